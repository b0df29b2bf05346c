// Four doubles at a time.

#if defined(__clang__)  // which forgets a smaller alignment behind references; its memory that is new is as aligned
typedef double Four __attribute__((vector_size(32)));
#else
typedef double Four __attribute__((vector_size(32), aligned(16)));  // as aligned as memory that is new
#endif
typedef decltype(Four{} < Four{}) Mask;

static const double INF = __builtin_inf();
static const double NORMAL = 0x1p-1022;
static const double EPS = 0x1p-52;

static inline Four all(double v) { return Four{v, v, v, v}; }
static inline Four larger(Four a, Four b) { return a > b ? a : b; }
static inline Four smaller(Four a, Four b) { return a < b ? a : b; }
static inline Four size_of(Four a) { return larger(a, -a); }
#if defined(LANES_OF_AVX2)
static inline bool any(Mask m) { return _mm256_movemask_pd((__m256d)m); }
#else
static inline bool any(Mask m) { return m[0] | m[1] | m[2] | m[3]; }
#endif
static inline Four pick(Mask m, Four a, Four b) { return m ? a : b; }

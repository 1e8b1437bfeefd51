/*
 * sys - raw system calls for the shim, which has no libc.
 *
 * Only what the shim uses. Numbers come from the kernel's own headers; each call
 * returns the kernel's value, a negative errno on failure.
 */
#ifndef PROCPEN_OS_SHIM_SYS_H
#define PROCPEN_OS_SHIM_SYS_H

#include <asm/unistd.h>

#define CLOSE_RANGE_CLOEXEC_FLAG 4 /* the build's headers may be older */

/* Sections behind all small data (the linker sorts by name), so that the data that every shim
 * writes share few pages. Of the plan that is mostly the beginning. */
#define SHIM_FIRST_OF_LARGE __attribute__((section(".bss.zy_large")))
#define SHIM_LARGE __attribute__((section(".bss.zz_large")))

#if defined(__x86_64__)

static inline long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

/*
 * @nr is clone(2) or clone3(2) with a separate stack, @a and @b are its first arguments, @tid is
 * clone's child_tid. The child calls fn(arg) and exits with its result. Written in assembly because
 * the child must not return into a frame that the parent is using.
 */
static inline long sys_start_child(long nr, long a, long b, volatile int *tid, int (*fn)(void *),
				   void *arg)
{
	long ret;
	register long r10 __asm__("r10") = (long)tid;
	register long r8 __asm__("r8") = 0;
	register int (*r12)(void *) __asm__("r12") = fn;
	register void *r13 __asm__("r13") = arg;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%r13, %%rdi\n\t"
			 "call *%%r12\n\t"
			 "mov %%eax, %%edi\n\t"
			 "mov %[exit], %%eax\n\t"
			 "syscall\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(0L), "r"(r10), "r"(r8), "r"(r12), "r"(r13),
			   [exit] "i"(__NR_exit)
			 : "rcx", "r11", "memory");
	return ret;
}

/* The kernel enters with argc at the top of the stack and no return address. */
#define SHIM_ENTRY(main_fn)                          \
	__asm__(".globl _start\n_start:\n\t"         \
		"xor %ebp, %ebp\n\t"                 \
		"mov %rsp, %rdi\n\t"                 \
		"and $-16, %rsp\n\t"                 \
		"call " #main_fn "\n\t"              \
		"ud2\n")

#elif defined(__aarch64__)

static inline long sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

static inline long sys_start_child(long nr, long a, long b, volatile int *tid, int (*fn)(void *),
				   void *arg)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = 0;
	register long x3 __asm__("x3") = 0;
	register long x4 __asm__("x4") = (long)tid;
	register int (*x19)(void *) __asm__("x19") = fn;
	register void *x20 __asm__("x20") = arg;

	__asm__ volatile("svc 0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, xzr\n\t"
			 "mov x0, x20\n\t"
			 "blr x19\n\t"
			 "mov x8, %[exit]\n\t"
			 "svc 0\n\t"
			 "brk 1\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x19), "r"(x20),
			   [exit] "i"(__NR_exit)
			 : "memory", "x30");
	return x0;
}

#define SHIM_ENTRY(main_fn)                          \
	__asm__(".globl _start\n_start:\n\t"         \
		"mov x29, xzr\n\t"                   \
		"mov x30, xzr\n\t"                   \
		"mov x0, sp\n\t"                     \
		"bl " #main_fn "\n\t"                \
		"brk 1\n")

#else
#error "the shim knows x86_64 and aarch64; add the two calls above for this machine"
#endif

/* @tid: with CLONE_CHILD_CLEARTID. */
static inline long sys_clone_call(unsigned long flags, void *stack_top, volatile int *tid,
				  int (*fn)(void *), void *arg)
{
	return sys_start_child(__NR_clone, (long)flags, (long)stack_top, tid, fn, arg);
}

/* The same by clone3(2); @args is its struct, which includes the stack. */
static inline long sys_clone3_call(void *args, unsigned long size, int (*fn)(void *), void *arg)
{
	return sys_start_child(__NR_clone3, (long)args, (long)size, 0, fn, arg);
}

#define sys0(nr) sys6(nr, 0, 0, 0, 0, 0, 0)
#define sys1(nr, a) sys6(nr, (long)(a), 0, 0, 0, 0, 0)
#define sys2(nr, a, b) sys6(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define sys3(nr, a, b, c) sys6(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define sys4(nr, a, b, c, d) sys6(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define sys5(nr, a, b, c, d, e) \
	sys6(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

#endif

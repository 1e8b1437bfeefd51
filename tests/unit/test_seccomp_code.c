/* The builder of the filter at its bound, which no table of ours reaches. */
#include "unit.h"

#include "os/sandbox/seccomp.c"

static struct builder *builder_with(size_t instructions)
{
	struct builder *b = mem_zalloc(sizeof(*b));

	for (size_t i = 0; i < instructions; i++)
		seccomp_bpf_emit(b, BPF_LD | BPF_IMM, (uint32_t)i);
	return b;
}

static void test_seccomp_code_at_the_bound(void **state)
{
	struct builder *b = builder_with(SHIM_FILTER_MAX);
	struct sock_filter *program;
	ERR_LOCAL(e);
	size_t len;

	(void)state;
	assert_int_equal(seccomp_copy_code(b, &program, &len, &e), 0);
	assert_int_equal(len, SHIM_FILTER_MAX);
	assert_int_equal(program[0].k, SHIM_FILTER_MAX - 1);
	assert_int_equal(program[len - 1].k, 0);
	assert_true(SHIM_FILTER_MAX <= BPF_MAXINSNS);
	free(program);
	free(b);
}

static void test_seccomp_code_beyond_the_bound(void **state)
{
	struct builder *b = builder_with(SHIM_FILTER_MAX + 1);
	struct sock_filter *program = NULL;
	ERR_LOCAL(e);
	size_t len = 0;

	(void)state;
	seccomp_bpf_jump(b, BPF_JEQ, 1, 0, SHIM_FILTER_MAX - 1);
	assert_int_equal(b->len, SHIM_FILTER_MAX);
	assert_int_equal(seccomp_copy_code(b, &program, &len, &e), -1);
	assert_int_equal(e.type, ERR_SANDBOX_UNAVAILABLE);
	assert_non_null(strstr(e.message, "more than 512 instructions"));
	assert_null(program);
	err_release(&e);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seccomp_code_at_the_bound),
		cmocka_unit_test(test_seccomp_code_beyond_the_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

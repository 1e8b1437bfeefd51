#include "cap/budget.h"

#include "cap/cap.h"

static int budget_refuse(const struct config *c, const char *what, int64_t most,
			 enum config_key key, struct err *e)
{
	const char *option = config_rows[key].name;
	char remedy[CONFIG_REMEDY_SIZE];

	err_set(e, ERR_LIMIT_REACHED, "this session has used its budget of %lld %s (%s)",
		(long long)most, what, option);
	config_remedy(c, key, "...", remedy);
	err_hint(e, "No command starts in this session any more; the operator can change this for "
		    "the next one %s.", remedy);
	err_detail(e, "limit", json_string(option));
	err_detail(e, "limit_value", json_integer(most));
	e->lasting = true;
	return -1;
}

int budget_check(struct cap *c, struct err *e)
{
	int64_t runs = config_int(c->config, CONFIG_BUDGET_RUNS);
	int64_t seconds = config_int(c->config, CONFIG_BUDGET_CPU_SECONDS);
	struct metrics_spent spent;

	if (!runs && !seconds)
		return 0;
	spent = metrics_spent(c);
	if (runs && spent.runs >= (uint64_t)runs)
		return budget_refuse(c->config, runs == 1 ? "run" : "runs", runs,
				     CONFIG_BUDGET_RUNS, e);
	if (seconds && spent.cpu_us / 1000000 >= seconds)
		return budget_refuse(c->config, seconds == 1 ? "second of processor time"
							     : "seconds of processor time",
				     seconds, CONFIG_BUDGET_CPU_SECONDS, e);
	return 0;
}

/* process.follow: begins a follow (cap/follow.h), which then sends by itself. */
#include <string.h>

#include "base/json.h"
#include "cap/cap.h"
#include "proc/names.h"
#include "proc/output_text.h"

/* @from is start, now, or an object with no other members than the streams. */
static int process_follow_check_from(const json_t *from, struct err *e)
{
	const char *text = json_string_value(from), *name;
	json_t *value;

	if (text && strcmp(text, "start") && strcmp(text, "now")) {
		err_invalid(e, "from", "from cannot be \"%.64s\"", text);
		return err_hint(e, "Use start, now, or the offsets to go on from: "
				   "{\"stdout\": 4096, \"stderr\": 0}.");
	}
	json_object_foreach((json_t *)(uintptr_t)from, name, value) {
		if (!strcmp(name, "stdout") || !strcmp(name, "stderr"))
			continue;
		err_invalid(e, "from", "from has the unknown member `%.64s`", name);
		return err_hint(e, "Its members are stdout and stderr.");
	}
	return 0;
}

static int process_follow_prepare(struct cap_call *call, struct err *e)
{
	return process_follow_check_from(json_object_get(call->r->params, "from"), e);
}

/* Where to begin in one stream. */
static int process_follow_read_from(const struct req *r, const struct proc *p, int stream,
				    struct follow_spec *spec, struct err *e)
{
	const json_t *from = json_object_get(r->params, "from");
	const struct output *o = proc_output(p, stream);
	const char *name = names_streams[stream];

	if (!json_is_object(from)) {
		if (!strcmp(json_get_str(r->params, "from", "start"), "now"))
			spec->from[stream] = spec->base64 ? o->total
							  : output_whole_end(o, o->total);
		return 0;
	}
	spec->from[stream] = (uint64_t)json_get_int(from, name, 0);
	if (spec->from[stream] <= o->total)
		return 0;
	err_invalid(e, "from", "from: %s has %llu bytes by now, so nothing is at %llu",
		    name, (unsigned long long)o->total, (unsigned long long)spec->from[stream]);
	err_detail(e, "stream", json_string(name));
	err_detail(e, "size", json_integer((json_int_t)o->total));
	return err_hint(e, "Use an offset up to that size, or \"now\".");
}

static int process_follow_read(const struct req *r, const struct proc *p, struct follow_spec *spec,
			       struct err *e)
{
	const char *stream = json_get_str(r->params, "stream", "both");

	*spec = (struct follow_spec){
		.wanted = { strcmp(stream, "stderr") != 0, strcmp(stream, "stdout") != 0 },
		.base64 = !strcmp(json_get_str(r->params, "encoding", "utf8"), "base64"),
		.request_id = r->id,
	};
	for (int i = 0; i < 2; i++)
		if (spec->wanted[i] && process_follow_read_from(r, p, i, spec, e))
			return -1;
	return 0;
}

static enum cap_outcome process_follow_start(struct cap_call *call)
{
	struct cap *c = call->c;
	struct req *r = call->r;
	struct proc *p = proctab_find(c->procs, json_get_str(r->params, "process_id", ""), call->e);
	char id[IDS_TEXT_SIZE];
	struct follow_spec spec;
	struct jsonw *w;

	if (!p || process_follow_read(r, p, &spec, call->e) || follow_check(&c->follows, call->e))
		return CAP_FAILED;
	follow_add(c, p, &spec, id);
	w = req_result(r);
	jsonw_str(w, "follow_id", id);
	jsonw_str(w, "process_id", p->id);
	jsonw_str(w, "state", names_state(p->state));
	jsonw_int_or_null(w, "stdout_from", spec.wanted[0], (int64_t)spec.from[0]);
	jsonw_int_or_null(w, "stderr_from", spec.wanted[1], (int64_t)spec.from[1]);
	return CAP_DONE;
}

const struct cap_ops cap_process_follow = {
	.prepare = process_follow_prepare,
	.start = process_follow_start,
};

#include "cap/until.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/pattern.h"
#include "base/utf8.h"
#include "os/ports.h"
#include "proc/lines.h"
#include "proc/names.h"

#define OPEN_LINE_MS 20
#define PORT_MS 50       /* between two looks, or ... */
#define PORT_SHARE 10    /* ... so many times what a look takes */
#define GROUPS_MAX 32

enum until_kind { EXIT, OUTPUT, PATTERN, PORT, IDLE };

static const char *const kinds[] = { "exit", "output", "pattern", "port", "idle" };

/* The calls that wait for a port: one look serves them all. */
static struct {
	struct until *first; /* those of one run are neighbours */
	struct until *next;  /* to look for, in the look that has begun; NULL: none has */
	uint64_t run;        /* the one that the look is at; 0: none yet */
	bool joined;         /* some came after the last look began: read all tables for them */
	unsigned tables;     /* of the last look; each but the first of a call reads one kind */
	int64_t spent_us;    /* by the look */
	struct slices_job job;
	ev_timer timer;
} until_ports;

/* A stream that is searched, or watched for output. */
struct until_stream {
	bool wanted;
	uint64_t from;      /* the first byte that counts */
	struct lines lines;
	bool begun;         /* `lines` has a place ... */
	bool placed;        /* ... at `from` or behind it */
	uint64_t searched;  /* bytes before it were seen */
	uint64_t stop;      /* search no further; set by the last look */
};

struct until {
	enum until_kind kind;
	struct cap *c;
	struct req *r;
	uint64_t seq;
	void (*on_change)(struct cap *c, struct req *r);
	struct until_stream stream[2];
	int current;            /* the stream to search next; of a match: its stream */
	struct pattern *pattern;
	struct line line;       /* the match, or where the pattern stopped ... */
	size_t at;              /* ... and where in the line */
	unsigned port;
	struct until *port_next, **port_at; /* in until_ports; port_at NULL: it is not there */
	int64_t idle_ms;
	enum until_found found;
	enum until_look how;
	bool open_lines;        /* take these too, in this turn */
	struct slices_job job;
	ev_timer timer;
};

/* ---- parameters ---- */

/* The parameters beside `until`, and the kinds that they go with. */
static const struct {
	const char *name;
	unsigned kinds;
	bool required;
} arguments[] = {
	{ "pattern", 1u << PATTERN, true },
	{ "port", 1u << PORT, true },
	{ "idle_ms", 1u << IDLE, true },
	{ "stream", 1u << OUTPUT | 1u << PATTERN, false },
	{ "from", 1u << OUTPUT | 1u << PATTERN, false },
};

/* Hosts that fill in defaults send "both" as stream and 0 as from with any condition. */
static bool until_is_usual(const json_t *value)
{
	return json_is_string(value) ? !strcmp(json_string_value(value), "both")
				     : json_number_value(value) == 0;
}

static int until_check_arguments(const json_t *params, enum until_kind kind, struct err *e)
{
	for (size_t i = 0; i < COUNT_OF(arguments); i++) {
		const char *name = arguments[i].name;
		const json_t *given = json_object_get(params, name);
		bool fits = arguments[i].kinds & 1u << kind;
		unsigned other = (unsigned)__builtin_ctz(arguments[i].kinds);

		if (given && !fits && (arguments[i].required || !until_is_usual(given))) {
			err_invalid(e, name, "%s does not go with until: \"%s\"", name,
				    kinds[kind]);
			return err_hint(e, "Add until: \"%s\", or leave out %s.", kinds[other],
					name);
		}
		if (!given && fits && arguments[i].required) {
			err_invalid(e, name, "until: \"%s\" needs %s", kinds[kind], name);
			return err_hint(e, "Add %s.", name);
		}
	}
	return 0;
}

static void until_on_timer(struct ev_loop *loop, ev_timer *timer, int events);
static void until_leave_ports(struct until *u);
static bool until_work(void *until, int64_t until_us);

struct until *until_new(const struct req *r, struct err *e)
{
	const json_t *params = r->params;
	const char *name = json_get_str(params, "until", kinds[EXIT]);
	const char *stream = json_get_str(params, "stream", "both");
	struct pattern *pattern = NULL;
	enum until_kind kind = EXIT;
	struct until *u;

	while (strcmp(kinds[kind], name))
		kind++;
	if (until_check_arguments(params, kind, e))
		return NULL;
	if (kind == PATTERN) {
		pattern = pattern_new(json_get_str(params, "pattern", ""), false, e);
		if (!pattern) {
			err_parameter(e, "pattern");
			return NULL;
		}
	}
	u = mem_zalloc(sizeof(*u));
	u->kind = kind;
	u->pattern = pattern;
	u->port = (unsigned)json_get_int(params, "port", 0);
	u->idle_ms = json_get_int(params, "idle_ms", 0);
	u->stream[0].wanted = strcmp(stream, names_streams[1]) != 0;
	u->stream[1].wanted = strcmp(stream, names_streams[0]) != 0;
	u->job.work = until_work;
	u->job.data = u;
	loop_timer_init(&u->timer, until_on_timer, u);
	return u;
}

void until_free(struct until *u)
{
	if (!u)
		return;
	until_leave_ports(u);
	slices_drop(&u->job);
	if (u->c)
		loop_timer_stop(u->c->loop, &u->timer);
	for (int i = 0; i < 2; i++)
		lines_end(&u->stream[i].lines);
	pattern_free(u->pattern);
	free(u);
}

void until_begin(struct until *u, struct cap *c, struct req *r, const struct proc *p,
		 void (*on_change)(struct cap *c, struct req *r))
{
	bool has_from = json_object_get(r->params, "from");
	uint64_t from = (uint64_t)json_get_int(r->params, "from", 0);

	u->c = c;
	u->r = r;
	u->seq = p->seq;
	u->on_change = on_change;
	u->stream[0].from = u->kind == OUTPUT && !has_from ? p->out.total : from;
	u->stream[1].from = u->kind == OUTPUT && !has_from ? p->err.total : from;
}

unsigned until_events(const struct until *u)
{
	unsigned output = u->kind == OUTPUT || u->kind == PATTERN ? PROC_EVENT_OUTPUT : 0;

	return output | PROC_EVENT_SETTLED | PROC_EVENT_FAILED;
}

/* ---- searching ---- */

/* Before `from`: where the last call has begun to search, else the start of the stream. */
static void until_begin_lines(struct until_stream *s, const struct output *o,
			      const struct lines_place *counted)
{
	static const struct lines_place start;

	s->begun = true;
	lines_begin_at(&s->lines, o, counted && counted->offset <= s->from ? counted : &start);
}

/* Move to `from`, counting the lines before it. False: it is not there yet, or the time is over. */
static bool until_place(struct until_stream *s, const struct output *o,
			struct lines_place *counted, int64_t until_us)
{
	if (s->placed)
		return true;
	if (o->total < s->from)
		return false;
	if (s->begun)
		lines_continue(&s->lines, o);
	else
		until_begin_lines(s, o, counted);
	while (!(s->placed = lines_skip(&s->lines, o, s->from)))
		if (clock_mono_us() >= until_us)
			break;
	s->searched = s->lines.offset;
	if (s->placed && s->lines.number && counted)
		*counted = (struct lines_place){ s->from, s->lines.number - 1 };
	return s->placed;
}

static bool until_match_line(struct until *u, const struct line *line)
{
	enum pattern_found found = grep_find(u->pattern, line, &u->at);

	if (found == PATTERN_ABSENT)
		return false;
	u->found = found == PATTERN_PRESENT ? UNTIL_MET : UNTIL_STOPPED;
	u->line = *line;
	return true;
}

/* Not restarted by each byte: a line that grows without end is taken all the same. */
static void until_plan_open_line(struct until *u)
{
	if (!loop_timer_is_set(&u->timer))
		loop_timer_start(u->c->loop, &u->timer, OPEN_LINE_MS);
}

/* Search the current stream. Returns whether its end is reached. */
static bool until_search_stream(struct until *u, const struct proc *p, int64_t until_us)
{
	const struct output *o = proc_output(p, u->current);
	struct until_stream *s = &u->stream[u->current];
	struct line line;

	if (!until_place(s, o, p->live ? &p->live->counted[u->current] : NULL, until_us))
		return o->total < s->from;
	lines_continue(&s->lines, o);
	s->lines.grows = proc_output_open(p);
	if (u->how != UNTIL_GO_ON)
		s->lines.end = s->stop;
	while (lines_next(&s->lines, o, &line)) {
		if (line.open && !u->open_lines) {
			lines_unread(&s->lines, &line);
			until_plan_open_line(u);
			return true;
		}
		if (until_match_line(u, &line))
			return true;
		s->searched = line.open ? s->lines.end : s->lines.offset;
		if (line.open) {
			lines_unread(&s->lines, &line);
			return true;
		}
		if (clock_mono_us() >= until_us)
			return false;
	}
	return true;
}

/* Search both streams for a turn, the one first that the last turn did not end with. Returns
 * whether there is more to search. */
static bool until_search(struct until *u, const struct proc *p, int64_t until_us)
{
	bool more = false;

	for (int i = 0; i < 2 && !more && u->found == UNTIL_OPEN; i++) {
		u->current = !u->current;
		if (!u->stream[u->current].wanted)
			continue;
		more = !until_search_stream(u, p, until_us);
		if (u->found == UNTIL_OPEN)
			lines_end(&u->stream[u->current].lines);
	}
	return more;
}

/* A turn of a search. */
static bool until_work_search(struct until *u, const struct proc *p, int64_t until_us)
{
	bool more;

	u->open_lines |= u->how != UNTIL_GO_ON;
	more = until_search(u, p, until_us);
	if (more && u->how != UNTIL_NOW)
		return true;
	u->open_lines = false;
	if (u->found == UNTIL_OPEN && u->how == UNTIL_GO_ON)
		return false;
	if (u->found == UNTIL_OPEN)
		u->found = UNTIL_UNMET;
	u->on_change(u->c, u->r);
	return false;
}

/* ---- ports ---- */

/* Does @p listen on the port? In a look that has begun. */
static bool until_finds_port(struct until *u, const struct proc *p)
{
	if (until_ports.run != p->seq)
		proc_look_at_ports(p);
	until_ports.run = p->seq;
	if (ports_listens(u->port))
		u->found = UNTIL_MET;
	return u->found == UNTIL_MET;
}

static void until_begin_look(unsigned tables)
{
	ports_begin(tables);
	until_ports.run = 0;
	until_ports.spent_us = 0;
}

/* All have been looked for: plan the next look, so that looking takes a tenth of a processor. */
static void until_end_look(struct ev_loop *loop)
{
	int64_t ms = until_ports.spent_us * PORT_SHARE / 1000;

	ports_end();
	if (until_ports.first)
		loop_timer_start(loop, &until_ports.timer,
				 until_ports.joined ? 0 : (double)(ms > PORT_MS ? ms : PORT_MS));
}

/* A turn of a look: one call after the other, until the time is over. */
static bool until_look_at_ports(void *cap, int64_t until_us)
{
	struct cap *c = cap;
	int64_t began_us = clock_mono_us(), now = began_us;

	while (until_ports.next && now < until_us) {
		struct until *u = until_ports.next;
		const struct proc *p = proctab_get(c->procs, u->seq);

		until_ports.next = u->port_next;
		if (!p || until_finds_port(u, p))
			u->on_change(c, u->r);
		now = clock_mono_us();
	}
	until_ports.spent_us += now - began_us;
	if (until_ports.next)
		return true;
	until_end_look(c->loop);
	return false;
}

static void until_on_port_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct cap *c = timer->data;
	bool other = until_ports.tables == PORTS_IPV4;

	(void)events;
	until_ports.tables = other ? PORTS_IPV6 : PORTS_IPV4;
	until_begin_look(until_ports.joined ? PORTS_IPV4 | PORTS_IPV6 : until_ports.tables);
	until_ports.joined = false;
	until_ports.next = until_ports.first;
	slices_add(&c->slices, loop, &until_ports.job);
}

/* Wait with the others, next to those of the same run. */
static void until_join_ports(struct until *u)
{
	struct until **at = &until_ports.first;

	if (!until_ports.first) {
		until_ports.job = (struct slices_job){ .work = until_look_at_ports, .data = u->c };
		loop_timer_init(&until_ports.timer, until_on_port_timer, u->c);
	}
	while (*at && (*at)->seq != u->seq)
		at = &(*at)->port_next;
	u->port_next = *at;
	u->port_at = at;
	if (u->port_next)
		u->port_next->port_at = &u->port_next;
	*at = u;
	until_ports.joined = true;
	if (!until_ports.job.queue)
		loop_timer_start(u->c->loop, &until_ports.timer, 0);
}

static void until_leave_ports(struct until *u)
{
	if (!u->port_at)
		return;
	*u->port_at = u->port_next;
	if (u->port_next)
		u->port_next->port_at = u->port_at;
	if (until_ports.next == u)
		until_ports.next = u->port_next;
	u->port_at = NULL;
	if (until_ports.first)
		return;
	slices_drop(&until_ports.job);
	loop_timer_stop(u->c->loop, &until_ports.timer);
}

/* The calls that wait are looked for together; the others here, and at the end of a run all: a
 * server that went into the background is among what it has left. */
static void until_look_at_port(struct until *u, const struct proc *p, enum until_look how)
{
	bool over = p->phase == PROC_SETTLED;

	if (over ? !p->tree_alive : u->port_at != NULL)
		return;
	if (how == UNTIL_GO_ON) {
		until_join_ports(u);
		return;
	}
	until_begin_look(PORTS_IPV4 | PORTS_IPV6);
	(void)until_finds_port(u, p);
	if (!until_ports.next) /* else the look of the others goes on with what was read here */
		ports_end();
}

/* ---- turns and timers ---- */

static bool until_work(void *until, int64_t until_us)
{
	struct until *u = until;
	const struct proc *p = proctab_get(u->c->procs, u->seq);

	if (p)
		return until_work_search(u, p, until_us);
	u->on_change(u->c, u->r);
	return false;
}

static void until_on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct until *u = timer->data;

	(void)loop;
	(void)events;
	u->open_lines = true;
	if (u->kind == IDLE)
		u->on_change(u->c, u->r);
	else
		slices_add(&u->c->slices, u->c->loop, &u->job);
}

/* ---- looking ---- */

static void until_look_at_output(struct until *u, const struct proc *p)
{
	for (int i = 1; i >= 0; i--)
		if (u->stream[i].wanted && proc_output(p, i)->total > u->stream[i].from) {
			u->found = UNTIL_MET;
			u->current = i;
		}
}

static void until_look_at_idle(struct until *u, const struct proc *p)
{
	int64_t left;

	if (p->phase == PROC_SETTLED)
		return;
	left = proc_silence_left(p, u->idle_ms);
	if (!left)
		u->found = UNTIL_MET;
	else
		loop_timer_start(u->c->loop, &u->timer, (double)left);
}

/* Each look asks for at least as much haste as the one before. */
static void until_hurry(struct until *u, const struct proc *p, enum until_look how)
{
	if (how <= u->how)
		return;
	for (int i = 0; i < 2 && u->how == UNTIL_GO_ON; i++)
		u->stream[i].stop = proc_output(p, i)->total;
	u->how = how;
}

enum until_found until_look(struct until *u, const struct proc *p, enum until_look how)
{
	until_hurry(u, p, how);
	if (u->found != UNTIL_OPEN)
		return u->found;
	if (u->kind == PATTERN) {
		slices_add(&u->c->slices, u->c->loop, &u->job);
		return UNTIL_OPEN;
	}
	if (u->kind == EXIT)
		u->found = p->phase == PROC_SETTLED ? UNTIL_MET : UNTIL_OPEN;
	else if (u->kind == OUTPUT)
		until_look_at_output(u, p);
	else if (u->kind == IDLE)
		until_look_at_idle(u, p);
	else
		until_look_at_port(u, p, how);
	if (u->found == UNTIL_OPEN && u->how != UNTIL_GO_ON)
		u->found = UNTIL_UNMET;
	return u->found;
}

/* ---- results ---- */

static void until_write_groups(const struct until *u, struct jsonw *w)
{
	size_t count = pattern_groups(u->pattern), at, len;

	jsonw_array(w, "groups");
	for (size_t i = 1; i <= count && i <= GROUPS_MAX; i++)
		if (pattern_group(u->pattern, i, &at, &len))
			jsonw_strn(w, NULL, u->line.text + at,
				   utf8_cut(u->line.text + at, len, GREP_SHOWN_MAX));
		else
			jsonw_null(w, NULL);
	jsonw_end_array(w);
}

static void until_write_line(const struct until *u, struct jsonw *w)
{
	size_t len, from = grep_shown(&u->line, u->at, &len);

	jsonw_str(w, "stream", names_streams[u->current]);
	jsonw_int(w, "offset", (int64_t)u->line.offset);
	jsonw_int_or_null(w, "line_number", u->line.number, (int64_t)u->line.number);
	jsonw_strn(w, "text", u->line.text + from, len);
	if (grep_is_cut(&u->line, len))
		jsonw_bool(w, "cut", true);
	until_write_groups(u, w);
}

/* Bytes that a search was to see and has not: it was too slow, or they are no longer kept. */
static uint64_t until_unsearched(const struct until *u, const struct proc *p)
{
	uint64_t bytes = 0;

	for (int i = 0; i < 2; i++) {
		const struct until_stream *s = &u->stream[i];
		uint64_t total = proc_output(p, i)->total;
		uint64_t seen = s->placed ? s->searched : s->from;

		if (s->wanted)
			bytes += s->lines.lost + (total > seen ? total - seen : 0);
	}
	return bytes;
}

void until_write(const struct until *u, const struct proc *p, struct jsonw *w)
{
	uint64_t unsearched = u->kind == PATTERN && u->found != UNTIL_MET ? until_unsearched(u, p)
									  : 0;

	if (unsearched)
		jsonw_int(w, "unsearched_bytes", (int64_t)unsearched);
	if (u->found != UNTIL_MET || u->kind == EXIT || u->kind == IDLE) {
		jsonw_null(w, "match");
		return;
	}
	jsonw_object(w, "match");
	if (u->kind == PORT) {
		jsonw_int(w, "port", u->port);
	} else if (u->kind == PATTERN) {
		until_write_line(u, w);
	} else {
		jsonw_str(w, "stream", names_streams[u->current]);
		jsonw_int(w, "offset", (int64_t)u->stream[u->current].from);
	}
	jsonw_end_object(w);
}

void until_error(const struct until *u, struct err *e)
{
	grep_limit_reached(e, names_streams[u->current], u->line.offset, "from");
}

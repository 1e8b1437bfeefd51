#include "cap/logs_combined.h"


#include "base/mem.h"
#include "proc/names.h"
#include "proc/output_text.h"

#define ENTRY_ENCODED 110 /* bytes of JSON of an entry beside its data */
#define ENTRY_TEXT 48     /* bytes of its heading where it is shown as text */
#define UNIT_ENCODED 24   /* of a character, at most */
#define CHUNK_BYTES (16 * 1024)

/* A part of one stream as a reader gets it: @start and @end cut no character. */
struct part {
	uint64_t start, end;
	uint64_t entry_end; /* where an entry that begins in it ends at the latest */
	uint32_t ms;
	bool is_err;
};

/* Where part @i ends for a reader. */
static uint64_t logs_combined_end(const struct proc *p, size_t i, bool base64)
{
	const struct arrivals *a = &p->arrivals;
	bool is_err = arrivals_get(a, i).is_err;
	const struct output *o = proc_output(p, is_err);
	size_t count = arrivals_count(a);

	for (size_t next = i + 1; next < count; next++) {
		struct arrival part = arrivals_get(a, next);

		if (part.is_err == is_err)
			return part.offset - (base64 ? 0 : part.cut);
	}
	return base64 ? o->total : output_whole_end(o, o->total);
}

/* The start of a character whose rest has not come by the end of its stream. It is behind all
 * else, because a reader who has all else was not given it. @last: the last part of the stream. */
static void logs_combined_add_rest(const struct proc *p, struct part *parts, size_t *count,
				   const struct part *last)
{
	uint64_t end = proc_output(p, last->is_err)->total;
	struct part rest = *last;

	if (last->end == end || !proc_output_ended(p))
		return;
	rest.start = last->end;
	rest.end = rest.entry_end = end;
	if (parts[*count - 1].is_err == last->is_err)
		parts[*count - 1].end = parts[*count - 1].entry_end = end;
	else
		parts[(*count)++] = rest;
}

/* All parts of @p; heap. */
static struct part *logs_combined_parts(const struct proc *p, bool base64, size_t *count)
{
	size_t all = arrivals_count(&p->arrivals);
	struct part *parts = mem_zalloc((all + 2) * sizeof(*parts)); /* two may have a rest */
	struct part last[2] = { { .is_err = false }, { .is_err = true } };

	for (*count = 0; *count < all; ++*count) {
		struct arrival a = arrivals_get(&p->arrivals, *count);
		struct part *part = &last[a.is_err];

		part->start = part->end;
		part->end = part->entry_end = logs_combined_end(p, *count, base64);
		part->ms = a.ms;
		parts[*count] = *part;
	}
	for (int stream = 0; stream < 2; stream++)
		logs_combined_add_rest(p, parts, count, &last[stream]);
	return parts;
}

/* A terminal shows neighbours of one stream as one text: let an entry go on to the last of them. */
static void logs_combined_join(struct part *parts, size_t count)
{
	for (size_t i = count; i-- > 1;)
		if (parts[i - 1].is_err == parts[i].is_err)
			parts[i - 1].entry_end = parts[i].entry_end;
}

void logs_combined_since(const struct proc *p, bool base64, uint64_t since,
			 struct logs_place *place)
{
	size_t count;
	AUTO_FREE struct part *parts = logs_combined_parts(p, base64, &count);

	*place = (struct logs_place){ { 0, 0 } };
	for (size_t i = 0; i < count && since; i++) {
		uint64_t len = parts[i].end - parts[i].start;
		uint64_t taken = len < since ? len : since;

		place->at[parts[i].is_err] += taken;
		since -= taken;
	}
}

/* ---- the last lines ---- */

struct tail {
	uint64_t lines; /* still to be found */
	bool inside;    /* a byte behind the present one was seen */
};

/* Look from the end of @part back. True: *@at is where the first line of the tail begins, or where
 * nothing before is kept. */
static bool logs_combined_tail_in(const struct output *o, const struct part *part,
				  struct tail *t, uint64_t *at)
{
	char chunk[CHUNK_BYTES];

	for (uint64_t end = part->end; end > part->start;) {
		uint64_t len = end - part->start < sizeof(chunk) ? end - part->start
								 : sizeof(chunk);
		uint64_t offset = end - len;
		ssize_t n = output_read(o, &offset, chunk, (size_t)len);

		if (n <= 0 || offset + (uint64_t)n != end || offset != end - len) {
			*at = end;
			return true;
		}
		for (ssize_t i = n; i-- > 0; t->inside = true) {
			if (chunk[i] != '\n' || !t->inside || --t->lines)
				continue;
			*at = offset + (uint64_t)i + 1;
			return true;
		}
		end = offset;
	}
	return false;
}

void logs_combined_tail(const struct proc *p, bool base64, uint64_t lines,
			struct logs_place *place)
{
	size_t count;
	AUTO_FREE struct part *parts = logs_combined_parts(p, base64, &count);
	struct tail t = { .lines = lines };

	*place = (struct logs_place){ { 0, 0 } };
	for (size_t i = 0; i < count; i++)
		place->at[parts[i].is_err] = parts[i].end;
	if (!lines)
		return;
	for (size_t i = count; i-- > 0;) {
		bool is_err = parts[i].is_err;

		if (logs_combined_tail_in(proc_output(p, is_err), &parts[i], &t,
					  &place->at[is_err]))
			return;
		place->at[is_err] = parts[i].start;
	}
}

/* ---- entries ---- */

struct writer {
	struct jsonw *w;
	const struct proc *p;
	struct logs_combined left;
	int shown; /* the stream of the entry before; -1: there is none */
	uint64_t taken, before, lines; /* bytes of the entries, of all but the last one, and up to
					* the last line end */
};

/* Is there room for one more entry with at least a character? The first one comes in any case. */
static bool logs_combined_has_room(const struct writer *t)
{
	return t->shown < 0 ||
	       (t->left.max_bytes && t->left.max_encoded > ENTRY_ENCODED + UNIT_ENCODED &&
		t->left.max_text > ENTRY_TEXT + UNIT_ENCODED);
}

static size_t logs_combined_minus(size_t left, size_t used)
{
	return left > used ? left - used : 0;
}

/* Does an entry of @part end where its stream does, maybe in the middle of an escape sequence? */
static bool logs_combined_is_open(const struct proc *p, const struct part *part)
{
	const struct output *o = proc_output(p, part->is_err);

	return !proc_output_ended(p) && part->entry_end == output_whole_end(o, o->total);
}

/* The entry of @part that begins at @at, without bounds. */
static struct output_page logs_combined_new_page(const struct proc *p,
						 const struct logs_combined *page,
						 const struct part *part, uint64_t at)
{
	return (struct output_page){
		.offset = at,
		.end = page->clean && logs_combined_is_open(p, part) ? 0 : part->entry_end,
		.base64 = page->base64,
		.clean = page->clean,
		.final = p->phase == PROC_SETTLED,
	};
}

/* Does an entry of @part that goes on to @next end there because of a bound? */
static bool logs_combined_is_cut(const struct writer *t, const struct part *part, uint64_t next)
{
	uint64_t from, to;

	return next < part->entry_end &&
	       !(output_evicted(proc_output(t->p, part->is_err), &from, &to) && next == from);
}

/* Write one entry from *@at on, at most up to where those of @part end; moves *@at. False: the page
 * ends here, because a bound has cut the entry or what is there is not complete yet. */
static bool logs_combined_write_entry(struct writer *t, const struct part *part, uint64_t *at)
{
	const struct output *o = proc_output(t->p, part->is_err);
	struct output_page page = logs_combined_new_page(t->p, &t->left, part, *at);

	page.max_bytes = t->left.max_bytes;
	page.max_encoded = logs_combined_minus(t->left.max_encoded, ENTRY_ENCODED);
	page.max_text = logs_combined_minus(t->left.max_text, ENTRY_TEXT);
	if (page.clean && !output_has_page(o, &page))
		return false;
	jsonw_object(t->w, NULL);
	jsonw_str(t->w, "stream", names_streams[part->is_err]);
	jsonw_int(t->w, "offset", (int64_t)*at);
	jsonw_int(t->w, "timestamp_ms", t->p->started_wall_ms + part->ms);
	output_write_page(o, t->w, "data", &page);
	jsonw_end_object(t->w);
	t->left.max_bytes = logs_combined_minus(t->left.max_bytes, page.next - *at);
	t->left.max_encoded =
		logs_combined_minus(t->left.max_encoded, page.encoded + ENTRY_ENCODED);
	t->left.max_text = logs_combined_minus(t->left.max_text,
					       page.text + (t->shown != part->is_err) * ENTRY_TEXT);
	t->shown = part->is_err;
	if (page.line_end)
		t->lines = t->taken + page.line_end - *at;
	t->before = t->taken;
	t->taken += page.next - *at;
	if (page.next <= *at) { /* a read error must not stop the reader */
		*at = part->end;
		return true;
	}
	*at = page.next;
	return !logs_combined_is_cut(t, part, page.next);
}

/* Move *@at to what is kept of @part. False: there is no more. */
static bool logs_combined_find_kept(const struct proc *p, const struct part *part, uint64_t *at)
{
	uint64_t from, to;

	if (*at < part->end && output_evicted(proc_output(p, part->is_err), &from, &to) &&
	    *at >= from && *at < to)
		*at = to < part->end ? to : part->end;
	return *at < part->end;
}

/* Write what is kept of @part from *@at on. False: there was no room for all. */
static bool logs_combined_write_part(struct writer *t, const struct part *part, uint64_t *at)
{
	while (logs_combined_find_kept(t->p, part, at)) {
		if (!logs_combined_has_room(t) || !logs_combined_write_entry(t, part, at))
			return false;
	}
	return true;
}

/* How many bytes a page of text should have that a bound cuts behind or in those of @t: a line that
 * ends in its second half is its last, and a character beyond the limit comes only by itself. */
static uint64_t logs_combined_whole_lines(const struct writer *t, const struct logs_combined *page)
{
	uint64_t taken = t->taken > page->max_bytes && t->before ? t->before : t->taken;

	return t->lines * 2 > taken ? t->lines : taken;
}

/* Write @parts from @place on, and move it behind what is written. Returns 0, or how many bytes of
 * that the page should have. */
static size_t logs_combined_write_parts(struct jsonw *w, const struct proc *p,
					const struct logs_combined *page, const struct part *parts,
					size_t count, struct logs_place *place)
{
	struct writer t = { .w = w, .p = p, .left = *page, .shown = -1 };
	uint64_t bytes = 0;
	size_t i = 0;

	jsonw_array(w, "entries");
	while (i < count && logs_combined_write_part(&t, &parts[i], &place->at[parts[i].is_err]))
		i++;
	jsonw_end_array(w);
	if (!page->clean && (i < count || t.taken > page->max_bytes))
		bytes = logs_combined_whole_lines(&t, page);
	return bytes < t.taken ? (size_t)bytes : 0;
}

bool logs_combined_goes_on(const struct proc *p, const struct logs_combined *page,
			   const struct logs_place *place)
{
	size_t count;
	AUTO_FREE struct part *parts = logs_combined_parts(p, page->base64, &count);

	if (page->clean)
		logs_combined_join(parts, count);
	for (size_t i = 0; i < count; i++) {
		uint64_t at = place->at[parts[i].is_err];
		struct output_page next;

		if (!logs_combined_find_kept(p, &parts[i], &at))
			continue;
		next = logs_combined_new_page(p, page, &parts[i], at);
		return output_has_page(proc_output(p, parts[i].is_err), &next);
	}
	return false;
}

void logs_combined_write(struct jsonw *w, const struct proc *p, const struct logs_combined *page,
			 struct logs_place *place)
{
	struct logs_combined bounds = *page;
	struct logs_place end = *place;
	struct jsonw trial = *w;
	size_t count, bytes, start = w->out->len;
	AUTO_FREE struct part *parts = logs_combined_parts(p, page->base64, &count);

	if (page->clean)
		logs_combined_join(parts, count);
	trial.outline = NULL;
	bytes = logs_combined_write_parts(&trial, p, page, parts, count, &end);
	if (!bytes && !w->outline) {
		*w = trial;
		*place = end;
		return;
	}
	/* The last line may end entries before the place where a bound cuts: once more. */
	buf_truncate(w->out, start);
	bounds.max_bytes = bytes ? bytes : page->max_bytes;
	logs_combined_write_parts(w, p, &bounds, parts, count, place);
}

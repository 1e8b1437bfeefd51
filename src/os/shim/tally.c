#include "os/shim/tally.h"

#include "os/shim/proctree.h"
#include "os/shim/sys.h"

#define NOTED_MAX 4096 /* of more the tally is lost */
#define ALIVE_MAX 128  /* of a namespace: to look at more takes longer than a kill may wait */

static int noted[NOTED_MAX] SHIM_LARGE; /* seen alive in the kill, and not collected */
static int noted_count;
static int unnoted; /* others of the namespace that were listed, and not collected */
static uint32_t ended; /* collected by us */
static bool lost;

/* The place of @pid among the noted; their count: it is none. */
static int tally_place(int pid)
{
	int i = 0;

	while (i < noted_count && noted[i] != pid)
		i++;
	return i;
}

bool tally_note(int pid)
{
	if (lost || tally_place(pid) < noted_count || !proctree_is_live(pid))
		return false;
	if (noted_count == NOTED_MAX) {
		lost = true;
		return false;
	}
	noted[noted_count++] = pid;
	return true;
}

bool tally_note_namespace(int pid)
{
	const int *others;
	int count = proctree_others(&others);

	noted_count = 0;
	for (int i = 0; i < count && i < ALIVE_MAX; i++) {
		if (others[i] == pid)
			noted[noted_count++] = pid;
		else
			tally_note(others[i]);
	}
	unnoted = count > ALIVE_MAX ? count - noted_count : 0;
	lost |= count == PROCTREE_OTHERS_MAX;
	return noted_count == 1 && noted[0] == pid && !unnoted && !lost;
}

/* Only deaths by signal count: one that exited was a zombie before, or has ended itself. */
void tally_collected(int pid, bool by_signal, bool counts)
{
	int place = tally_place(pid);

	if (place < noted_count)
		noted[place] = noted[--noted_count];
	else
		unnoted -= unnoted > 0;
	ended += counts && by_signal;
}

void tally_lose(void)
{
	lost = true;
}

bool tally_is_none(void)
{
	return !ended && !noted_count && !unnoted && !lost;
}

void tally_report(struct shim_report *report)
{
	report->live = ended + (uint32_t)noted_count;
	report->uncounted = lost || unnoted;
}

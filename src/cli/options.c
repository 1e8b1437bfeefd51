#include "cli/options.h"


#include "base/mem.h"
#include "cli/answer.h"
#include "cli/say.h"

void options_init(struct options *o)
{
	*o = (struct options){ .directories = NULL };
	config_init(&o->context.config);
}

static void options_add_directory(struct options *o, const char *value)
{
	mem_list_add(&o->directories, mem_strdup(value));
	o->context.directories = o->directories;
}

static int options_set(struct options *o, const char *value)
{
	ERR_LOCAL(e);

	if (!config_set(&o->context.config, value, &e) &&
	    !context_check_config(&o->context.config, NULL, &e))
		return CMDLINE_GO_ON;
	err_prefix(&e, "--set %.400s: ", value);
	say_error(NULL, &e);
	err_release(&e);
	return SAY_STATUS_USAGE;
}

int options_take(void *options, const struct cli_option *option,
		 const struct cmdline_value *value)
{
	struct options *o = options;

	switch (option->id) {
	case OPTION_WORKSPACE:
		o->context.workspace = value->text;
		return CMDLINE_GO_ON;
	case OPTION_STATE_DIR:
		o->context.state_dir = value->text;
		return CMDLINE_GO_ON;
	case OPTION_ALLOW_DIR:
		options_add_directory(o, value->text);
		return CMDLINE_GO_ON;
	case OPTION_CONFIG:
		o->context.config_file = value->text;
		return CMDLINE_GO_ON;
	case OPTION_SET:
		return options_set(o, value->text);
	case OPTION_JSON:
		o->json = true;
		return CMDLINE_GO_ON;
	default:
		mem_bug(__FILE__, __LINE__, option->name);
	}
}

int options_load(struct options *o, const struct cli_command *command)
{
	struct context_options *c = &o->context;
	struct config_files files = { 0 };
	ERR_LOCAL(e);
	int status = CMDLINE_GO_ON;

	if (config_load(&c->config, c->config_file, &files, &e) ||
	    context_check_config(&c->config, NULL, &e)) {
		answer_fail(command, o->json, &e);
		status = SAY_STATUS_USAGE;
	}
	err_release(&e);
	config_files_release(&files);
	return status;
}

void options_release(struct options *o)
{
	mem_list_free(o->directories);
	config_release(&o->context.config);
}

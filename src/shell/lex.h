/*
 * shell_lex - shell text to a syntax tree; private to this folder.
 *
 * A reader has a position in one text. Texts inside it (a backquoted command, a
 * here-document) have readers of their own that share one state. The first trouble
 * is kept and ends all reading; the tree keeps what was complete before it.
 */
#ifndef PROCPEN_SHELL_LEX_H
#define PROCPEN_SHELL_LEX_H

#include "shell/arena.h"
#include "shell/ast.h"
#include "shell/script.h"

/* Of one text with all texts inside it. */
struct lex_state {
	struct shell_arena *arena;
	unsigned depth;    /* levels left */
	size_t again;      /* bytes that may be read a second time, left */
	enum shell_family family; /* the shell that runs the text */
	bool posix;        /* read as dash does, where bash differs */
	bool ambiguous;    /* dash, if it may run the text, reads a part of it otherwise */
	bool unfinished;   /* the text ends inside a quote, a here-document or a command */
	enum shell_trouble trouble;
	const char *trouble_text;
	uint32_t trouble_at;
};

/* What reads a text of @len bytes into @arena. */
static inline struct lex_state lex_state_of(struct shell_arena *arena, unsigned depth,
					    enum shell_family family, size_t len)
{
	return (struct lex_state){ .arena = arena, .depth = depth, .family = family,
				   .again = 2 * len + 256 };
}

struct lex_here {
	struct lex_here *next;
	struct ast_redirect *redirect;
};

struct lex_reader {
	struct lex_state *state;
	struct shell_text text;
	size_t pos, end;
	struct lex_here *pending, **pending_tail; /* here-documents whose bodies follow */
	size_t peeked, peeked_end; /* where a reserved word was last looked for, and its end */
	uint8_t peeked_word;	   /* enum lex_reserved found there */
	size_t line_end; /* behind the first newline that lex_newlines() last took; 0: none */
	bool inner; /* its text is closed by what follows it in another one */
};

/* ---- grammar.c: commands ---- */

/* The whole text, or what precedes a trouble; never NULL. */
struct ast_node *grammar_program(struct lex_state *state, const struct shell_text *text);
/* The next commands with their here-documents; NULL: no more, or a trouble. */
struct ast_node *grammar_next(struct lex_reader *r);
/* Commands up to the token that ends a list, which stays unread. */
struct ast_node *grammar_list(struct lex_reader *r);
struct ast_node *grammar_new_node(struct lex_reader *r, enum ast_type type);

enum lex_reserved {
	WORD_NONE, WORD_BANG, WORD_OPEN, WORD_CLOSE, WORD_TEST, WORD_CASE, WORD_COPROC, WORD_DO,
	WORD_DONE, WORD_ELIF, WORD_ELSE, WORD_ESAC, WORD_FI, WORD_FOR, WORD_FUNCTION, WORD_IF,
	WORD_IN, WORD_SELECT, WORD_THEN, WORD_TIME, WORD_UNTIL, WORD_WHILE,
};

/* The reserved word at the position, unread; *end: after it. */
enum lex_reserved grammar_peek_reserved(struct lex_reader *r, size_t *end);
/* Length of NAME before =, += or [index]= at the position; 0: no assignment. */
size_t grammar_assigned_name(const struct lex_reader *r);
/* Read the redirection at the position; NULL: there is none. */
const struct ast_redirect *grammar_next_redirect(struct lex_reader *r);
bool grammar_take_reserved(struct lex_reader *r, enum lex_reserved which);

/* ---- lex.c: characters and blanks ---- */

void lex_reader_init(struct lex_reader *r, struct lex_state *state, const struct shell_text *text);
/* Note the first trouble, which ends all reading. */
void lex_fail(struct lex_reader *r, enum shell_trouble trouble, const char *what, size_t at);
void lex_unexpected(struct lex_reader *r);

/* Take the parenthesis that closes the one at @open. */
void lex_close(struct lex_reader *r, size_t open);
static inline bool lex_failed(const struct lex_reader *r)
{
	return r->state->trouble != SHELL_FINE;
}
/* Dash reads the text at the position otherwise. */
static inline void lex_note_other(struct lex_reader *r)
{
	r->state->ambiguous |= r->state->family != SHELL_FAMILY_BASH;
}
/* Dash refuses the text at the position, which matters only if the shell is dash. */
static inline void lex_note_refused(struct lex_reader *r)
{
	r->state->ambiguous |= r->state->family == SHELL_FAMILY_DASH;
}
bool lex_enter(struct lex_reader *r);
void lex_leave(struct lex_reader *r);

/* The character @ahead of the position; -1: the end. */
static inline int lex_peek(const struct lex_reader *r, size_t ahead)
{
	return r->pos + ahead < r->end ? (unsigned char)r->text.s[r->pos + ahead] : -1;
}
uint32_t lex_origin(const struct lex_reader *r, size_t pos);
uint32_t lex_origin_end(const struct lex_reader *r, size_t pos);
/* Swap *start and *end if a text built from others has them in reverse. */
void lex_order(uint32_t *start, uint32_t *end);
struct ast_text lex_slice(const struct lex_reader *r, size_t from, size_t to);

/* What a character may be. */
enum lex_class {
	LEX_NAME = 1,	  /* a letter or _ */
	LEX_DIGIT = 2,
	LEX_META = 4,	  /* ends a word */
	LEX_RESERVED = 8, /* begins a reserved word, or may hide one */
	LEX_PATTERN = 16, /* a glob when unquoted, (: an extended one; or a mark of chars.c */
	LEX_ESCAPE = 32,  /* ends a run of plain characters */
};
extern const uint8_t lex_classes[256];

static inline bool lex_is(char c, unsigned classes)
{
	return lex_classes[(unsigned char)c] & classes;
}

static inline bool lex_is_meta(int c)
{
	return c < 0 || (lex_classes[c] & LEX_META);
}

static inline bool lex_is_name(int c, bool first)
{
	return c >= 0 && (lex_classes[c] & (first ? LEX_NAME : LEX_NAME | LEX_DIGIT));
}

/* Skip backslash and newline, which join two lines even within an operator. */
static inline void lex_continuation(struct lex_reader *r)
{
	while (lex_peek(r, 0) == '\\' && lex_peek(r, 1) == '\n')
		r->pos += 2;
}
static inline void lex_spaces(struct lex_reader *r)
{
	for (;;) {
		lex_continuation(r);
		if (lex_peek(r, 0) != ' ' && lex_peek(r, 0) != '\t')
			break;
		r->pos++;
	}
}
/* Skip blanks and a comment, up to a token or the newline. */
void lex_blank(struct lex_reader *r);

/* ---- word.c ---- */

/* Where a word ends. */
enum lex_stop {
	STOP_WORD,     /* at blank or operator */
	STOP_BRACE,    /* at } */
	STOP_SLASH,    /* at / or }: pattern of ${x/pattern/text} */
	STOP_COLON,    /* at : or }: offset of ${x:offset:length} */
	STOP_BRACKET,  /* at ] */
	STOP_PARENTHESIS, /* at ): one of ?(a|b) */
};

struct lex_word {
	struct ast_word *word;
	struct ast_part **tail;
	struct ast_part *last;
};

/* The word at the position; NULL if none starts there. */
struct ast_word *lex_word(struct lex_reader *r);
struct ast_word *lex_word_until(struct lex_reader *r, enum lex_stop stop);
/* Text read as in double quotes, up to @term ('"', '}', or -1: the end of the reader). */
struct ast_word *lex_quoted_until(struct lex_reader *r, int term);
void lex_word_start(struct lex_reader *r, struct lex_word *b);
void lex_word_end(struct lex_reader *r, struct lex_word *b);
void lex_add_text(struct lex_reader *r, struct lex_word *b, size_t from, size_t to, bool quoted);
/* The arithmetic up to the closing "))" or "]", which is read; NULL: not arithmetic. */
struct ast_word *lex_arith(struct lex_reader *r, int close);
/* What was read from @from on is no arithmetic: go back there. @pending: as pending_tail was. The
 * text fails if it has too much of that, because of @what. */
void lex_read_again(struct lex_reader *r, size_t from, struct lex_here **pending, const char *what);

/* ---- here.c: here-documents ---- */

void lex_here_delimiter(struct lex_reader *r, struct ast_redirect *redirect);
void lex_here_bodies(struct lex_reader *r);
/* Skip blanks, comments and newlines; read the here-documents after the newlines. */
void lex_newlines(struct lex_reader *r);

#endif

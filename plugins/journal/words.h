// Words of texts as JSON has them, in any case.
#include <stdbool.h>
#include <stddef.h>

enum { MOST_TERMS = 16 };

// What is searched for: each term is a word, or words that follow each other.
typedef struct {
  char *terms[MOST_TERMS];
  size_t count;
} Query;

// Reads words and "phrases in quotes".
Query query_of(const char *from, size_t length);
void free_query(Query *query);

// True for a text that has all terms, each from the beginning of a word on.
bool has_all(const Query *query, const char *text, size_t length);

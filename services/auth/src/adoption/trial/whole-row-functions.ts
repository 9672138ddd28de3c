import { type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import { namedIn } from '../../schema/catalog.ts'
import { listFirst } from '../../schema/existing-schema.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'
import { gaining } from '../changes/added-columns.ts'
import type { JudgedFunction } from './try-writes.ts'

/**
 * Lists columns of other tables whose type is the row type of a table that gets new columns, also within an array, a domain or
 * another type. PostgreSQL refuses to change such a table.
 * @returns a line with advice for each column
 */
export async function listRowColumns(
  db: QueryExecutorProvider,
  { names }: Pick<AdoptionPlaces, 'names'>,
): Promise<readonly string[]> {
  const { rows } = await sql<{ column: string; table: string }>`
    WITH RECURSIVE ${await gaining(names)},
    typed AS (
      SELECT reltype AS type, name FROM gaining WHERE is_type_fixed
      UNION SELECT u.type, t.name FROM typed t CROSS JOIN LATERAL (
        SELECT typarray AS type FROM pg_type WHERE oid = t.type AND typarray <> 0
        UNION ALL SELECT oid FROM pg_type WHERE typbasetype = t.type
        UNION ALL SELECT c.reltype FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
          WHERE a.atttypid = t.type AND NOT a.attisdropped AND c.reltype <> 0) u)
    SELECT DISTINCT format('%s.%I', c.oid::regclass, a.attname) AS "column", t.name AS "table"
      FROM typed t JOIN pg_attribute a ON a.atttypid = t.type AND NOT a.attisdropped
      JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p', 'm') ORDER BY 1, 2`.execute(db)
  return rows.map(
    ({ column, table }) =>
      `the column ${column} has the type of ${names.schema}.${table}, to which PostgreSQL adds no columns then: drop it, or make it jsonb`,
  )
}

/**
 * The limit of the total length of function texts, in characters. Anybody may create functions, and the time to read them grows
 * with their length. Texts within this limit take less than a second.
 */
const TEXTS_MAX = 1_048_576

/**
 * Returns the ways in which functions get rows of a table that gets new columns: by its name, by the transition tables of a
 * trigger, as `new` and `old`, or as a parameter.
 */
const sources = (schema: string): RawBuilder<unknown> => sql`
  source AS (
    SELECT f.oid, m.name AS "table", 'name' AS "as", m.name AS word,
        f.prorettype <> m.reltype AND (f.prorettype = 'record'::regtype OR f.proretset
          OR f.prorettype IN (SELECT reltype FROM pg_class WHERE reltype <> 0)) AS "returnsOthers",
        f.prorettype <> m.reltype AND f.proretset AS "returnsSet"
      FROM gaining m JOIN pg_proc f ON ${namedIn(schema)}
    UNION SELECT t.tgfoid, m.name, 'name', row_name, false, false FROM gaining m JOIN pg_trigger t ON t.tgrelid = m.oid
      CROSS JOIN LATERAL unnest(ARRAY[t.tgoldtable, t.tgnewtable]::text[]) AS row_name WHERE row_name IS NOT NULL
    UNION SELECT t.tgfoid, m.name, 'trigger', '', false, false FROM gaining m
      JOIN pg_trigger t ON t.tgrelid = m.oid AND NOT t.tgisinternal
    UNION SELECT f.oid, m.name, 'argument', '', false, false FROM gaining m JOIN pg_type r ON r.oid = m.reltype
      JOIN pg_proc f ON r.oid = ANY (f.proargtypes) OR r.typarray = ANY (f.proargtypes))`

/** Functions whose text uses all columns of a table. Each has a line with advice. */
interface RowWriters {
  readonly sure: readonly string[]
  /** Functions that may use the columns of another table instead. */
  readonly unsure: readonly string[]
}

/**
 * Lists functions of other programs that would probably fail after a table gets the columns of this service, by their text.
 * PostgreSQL detects this only when they run. The result is a guess, because a function may behave differently.
 * @param judged the functions that PostgreSQL has already checked
 */
export async function listRowWriters(
  db: QueryExecutorProvider,
  { names }: Pick<AdoptionPlaces, 'names'>,
  judged: readonly JudgedFunction[],
): Promise<RowWriters> {
  const { rows } = await sql<{ function: string; text: string | null; isSql: boolean; sources: readonly RowSource[] }>`
    WITH ${await gaining(names)}, ${sources(names.schema)},
    taking AS (
      SELECT f.oid, format('%s', f.oid::regprocedure) AS function, f.prosrc, l.lanname = 'sql' AS "isSql"
      FROM pg_proc f JOIN pg_language l ON l.oid = f.prolang
      WHERE f.oid IN (SELECT oid FROM source) AND f.pronamespace <> 'pg_catalog'::regnamespace
        AND l.lanname NOT IN ('internal', 'c') AND f.prosrc ~* '[*]|\\mtable\\M')
    SELECT function, "isSql",
      CASE WHEN sum(length(prosrc)) OVER (ORDER BY length(prosrc), oid) <= ${TEXTS_MAX} THEN prosrc END AS text,
      (SELECT json_agg(s) FROM source s WHERE s.oid = t.oid) AS sources
    FROM taking t ORDER BY function`.execute(db)
  const open = rows.flatMap(({ function: name, text, ...each }) =>
    text === null
      ? []
      : [...findTakenTables({ text, ...each })]
          .map(([table, isSure]) => ({ function: name, table, isSure }))
          .filter((row) => !judged.some((one) => one.function === name && one.table === row.table))
          .sort((one, other) => (one.table < other.table ? -1 : 1)),
  )
  const unread = rows.filter(({ text }) => text === null).map(({ function: name }) => name)
  return {
    sure: open.flatMap((each) =>
      each.isSure
        ? [
            `the function ${each.function} takes all columns of ${names.schema}.${each.table}, which gets columns of this service: it would fail, and with it what calls it. Name the columns in it that it needs, or drop it; --force goes on all the same`,
          ]
        : [],
    ),
    unsure: [
      ...open.flatMap((each) =>
        each.isSure
          ? []
          : [
              `the function ${each.function} may take all columns of ${names.schema}.${each.table}, which gets columns of this service: where it does, name the columns that it needs`,
            ],
      ),
      ...describeUnread(names.schema, unread),
    ],
  }
}

function describeUnread(schema: string, names: readonly string[]): readonly string[] {
  if (names.length === 0) return []
  return [
    `functions were not read, since their texts are too long: see that they take no whole row of a table of ${schema}: ${listFirst(names)}`,
  ]
}

/** Rows of which a function may take all columns, and how its text refers to them. */
export interface RowSource {
  /** The table that gets new columns. */
  readonly table: string
  /**
   * How the text refers to the rows. `name`: by the name of the table or of a transition table. `trigger`: as `new` and `old`.
   * `argument`: as a parameter, which may be a list of rows.
   */
  readonly as: 'name' | 'trigger' | 'argument'
  /** The name in the text. */
  readonly word: string
  /** Whether the function returns rows of another type than the row type of the table. */
  readonly returnsOthers: boolean
  /** Whether the function returns a set of such rows. */
  readonly returnsSet: boolean
}

/** A function whose body PostgreSQL parses only when it is called. */
interface FunctionText {
  readonly text: string
  readonly isSql: boolean
  readonly sources: readonly RowSource[]
}

/** Patterns for a letter of a PostgreSQL name and for both ends of a word. */
const LETTER = String.raw`[\p{L}\p{N}_]`
const BEGIN = `(?<!${LETTER})`
const END = `(?!${LETTER})`
/** The patterns below match text in lower case in which each group of spaces is one space. */
const build = (pattern: string, flags = '') => new RegExp(pattern, `u${flags}`)

/**
 * Comments and quoted texts. Comments may contain any name, and quoted texts may contain comment signs. Quoted text without an
 * end does not match.
 */
const COMMENTS = /\be'(?:[^'\\]|\\.|'')*'|'[^']*'|--[^\n]*|\/\*.*?(\*\/|$)/gis
const LINE_COMMENTS = /--[^\n]*/g
const SPACES = /\s+/gu
/** Uses of the word `table` other than `TABLE name`, the short form of `SELECT * FROM name`. */
const OTHER_TABLES = build(`${BEGIN}(?:drop|alter|lock|create|truncate|temp|temporary|unlogged|on) table${END}`, 'g')
/** All columns of one row source, such as `a.*`. */
const SOME_COLUMNS = String.raw`\. ?\*`
/** All columns of a row, or of one row of a list: `(us[1]).*`. */
const ROW = String.raw`(?:${BEGIN}${LETTER}+"?|\$[0-9]+)(?: ?\[[^[\]]*\])? ?\)? ?${SOME_COLUMNS}`
/** A function call with a row, such as `to_jsonb(new.*)`, which accepts any number of columns. */
const CALLS = build(String.raw`${BEGIN}(?!(?:values|select)${END})${LETTER}+ ?\( ?\(? ?${ROW} ?\)`, 'g')
/** A list of columns that UPDATE sets from `row(…)`. Here `row` is not a function with a row as its argument. */
const SET_ROW = build(String.raw`((?:${BEGIN}set|,) ?\([^()]*\) ?= ?)row ?\(`, 'g')
/** The table that a statement writes, or the variables that it fills. Its columns are not read. */
const TARGETS = build(String.raw`${BEGIN}(?:into|update) (?:"?${LETTER}+"? ?\. ?)?"?${LETTER}+"?`, 'g')
/** The sign or word by which a statement takes all columns. */
const ANY_ALL = /[*]|table/
/** Statements that need a fixed number of columns. UPDATE needs it if it sets a list of columns. */
const WRITE = build(String.raw`${BEGIN}(?:(?:insert|merge) into${END}|set ?\([^()]*\) ?= ?\()`)
/** The same for an UPDATE that sets other columns before the list. */
const LATER_LIST = build(String.raw`, ?\([^()]*\) ?= ?\(`)
const SET = build(`${BEGIN}set${END}`)
const RETURN = build(`${BEGIN}return query${END}`)
const RETURN_NEXT = build(`${BEGIN}return next ${LETTER}`)
/** All columns of everything that is read. A product has a factor behind its sign, and `count(*)` a parenthesis before it. */
const ALL_COLUMNS = build(
  String.raw`(?:${BEGIN}(?:select|all|distinct|returning)|[,)]) ?\* ?(?:[\],;)'$]|$|${BEGIN}(?:into|from|where|union|except|intersect|returning|order|limit)${END})`,
)
const COLUMNS_OF_ONE = build(SOME_COLUMNS)
const ANY_ROW = build(ROW)
/** All columns of the table's row in its triggers. */
const TRIGGER_ROW = build(String.raw`(?:${BEGIN}(?:new|old)${END}|\$[0-9]+) ?\)? ?${SOME_COLUMNS}`)
/** Variables whose lists of rows are unnested. */
const UNNESTED = build(String.raw`${BEGIN}unnest ?\( ?"?(${LETTER}+)"? ?\)`, 'g')
/** Statements that need the same number of columns on both sides. */
const COMBINE = build(`${BEGIN}(?:union|except|intersect)${END}`)
/** The words before a table name in a query. A variable of the table's type cannot have these names. */
const READERS = '(?:from|join|only|table|update|into|using)'
/** All columns of a named row source. */
const NAMED_ROWS = build(String.raw`${BEGIN}(${LETTER}+)"? ?\)? ?${SOME_COLUMNS}`, 'g')

/**
 * Finds the tables of which a function writes or returns all columns into a fixed number of columns. Anybody may create a
 * function, so the running time must depend only on the length of its text.
 * @returns the tables. The value is `false` if the columns may be those of another table
 */
export function findTakenTables({ text, isSql, sources }: FunctionText): ReadonlyMap<string, boolean> {
  const plain = toPlain(text)
  const returnsNext = RETURN_NEXT.test(plain)
  const judges = sources.map((source) =>
    buildJudge(source, { variables: findRowVariables(plain, source), returnsNext }),
  )
  const taken = new Map<string, boolean>()
  for (const part of plain.split(';')) {
    if (!ANY_ALL.test(part)) continue
    const statement = readStatement(part, { isSql })
    for (const { table, judge } of judges) {
      const verdict = judge(statement)
      if (verdict !== 'no') taken.set(table, verdict === 'sure' || taken.get(table) === true)
    }
  }
  return taken
}

/** Returns text in lower case, without comments and without function calls that take a row. */
function toPlain(text: string): string {
  const bare = text.replace(COMMENTS, (found: string, end?: string) => {
    if (found.endsWith("'")) return found
    return end === '' ? found.replace(LINE_COMMENTS, ' ') : ' '
  })
  const lasting = bare.toLowerCase().replace(SPACES, ' ').replace(OTHER_TABLES, ' ').replace(SPACES, ' ')
  return lasting.replace(SET_ROW, '$1(').replace(CALLS, ' ').replace(SPACES, ' ')
}

/** A statement without its target table. */
interface Statement {
  readonly read: string
  readonly writes: boolean
  readonly returns: boolean
}

function readStatement(part: string, { isSql }: Pick<FunctionText, 'isSql'>): Statement {
  const writes = WRITE.test(part) || (LATER_LIST.test(part) && SET.test(part))
  return { read: part.replace(TARGETS, 'into'), writes, returns: isSql || RETURN.test(part) }
}

type Verdict = 'sure' | 'unsure' | 'no'

interface Judge {
  readonly table: string
  readonly judge: (statement: Statement) => Verdict
}

/** Findings about a whole text: its variables with rows of the table, and whether it returns rows one by one. */
interface Whole {
  readonly variables: ReadonlySet<string>
  readonly returnsNext: boolean
}

function buildJudge(source: RowSource, whole: Whole): Judge {
  const { table, as } = source
  if (as !== 'name') {
    const row = as === 'trigger' ? TRIGGER_ROW : ANY_ROW
    return { table, judge: ({ read, writes }) => (writes ? judgeUnnamed(read, { row, as }) : 'no') }
  }
  const forms = buildForms(source.word)
  return { table, judge: (statement) => judgeNamed(statement, source, { ...whole, ...forms }) }
}

/** Judges the written columns of a statement. In a parameter with a list, the rows have other names than the list. */
function judgeUnnamed(read: string, { row, as }: { readonly row: RegExp } & Pick<RowSource, 'as'>): Verdict {
  if (row.test(read)) return 'sure'
  return as === 'argument' && ALL_COLUMNS.test(read) ? 'unsure' : 'no'
}

function judgeNamed(
  { read, writes, returns }: Statement,
  { word, returnsOthers, returnsSet }: RowSource,
  { variables, returnsNext, ...forms }: Whole & Forms,
): Verdict {
  if (variables.size > 0 && writes && (ANY_ROW.test(read) || takesList(read, variables))) return 'sure'
  const needsColumns = writes || (returns && returnsOthers)
  const mayNeedColumns = (returnsNext && returnsSet) || COMBINE.test(read)
  if ((!needsColumns && !mayNeedColumns) || !read.includes(toPlainWord(word))) return 'no'
  if (takesOwn(read, forms)) return needsColumns ? 'sure' : 'unsure'
  if (!forms.name.test(read)) return 'no'
  if (ALL_COLUMNS.test(read)) return needsColumns ? 'sure' : 'unsure'
  return COLUMNS_OF_ONE.test(read) ? 'unsure' : 'no'
}

/** The patterns of a table's name, and of the forms in which a statement takes all its columns. */
interface Forms {
  readonly name: RegExp
  /** All columns by the name of the table, or by `TABLE name`. */
  readonly own: RegExp
  /** An alias of the table in the statement. */
  readonly otherNames: RegExp
}

function buildForms(word: string): Forms {
  const name = escapePattern(toPlainWord(word))
  return {
    name: build(`${BEGIN}${name}${END}`),
    own: build(
      String.raw`${BEGIN}${name}"? ?\)? ?${SOME_COLUMNS}|${BEGIN}table (?:only )?(?:"?${LETTER}+"? ?\. ?)?"?${name}${END}`,
    ),
    otherNames: build(`${BEGIN}${name}(?="? (?:as )?"?(${LETTER}+))`, 'dg'),
  }
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
}

function toPlainWord(word: string): string {
  return word.toLowerCase().replace(SPACES, ' ')
}

/** Returns whether a statement takes all columns of a table by its name, by an alias, or by `TABLE name`. */
function takesOwn(read: string, { own, otherNames }: Forms): boolean {
  if (own.test(read)) return true
  const places = new Map<string, { readonly first: number; readonly last: number }>()
  for (const { 1: name = '', index } of read.matchAll(NAMED_ROWS))
    places.set(name, { first: places.get(name)?.first ?? index, last: index })
  for (const { 1: name = '', indices } of read.matchAll(otherNames)) {
    const found = places.get(name)
    const place = indices?.[1]?.[0]
    // In `from users a.*`, this word must not count both as the alias and as the row source.
    if (found !== undefined && (found.first !== place || found.last !== place)) return true
  }
  return false
}

/** Returns whether a statement takes all columns of the rows in a variable. */
function takesList(read: string, variables: ReadonlySet<string>): boolean {
  return ALL_COLUMNS.test(read) && [...read.matchAll(UNNESTED)].some(({ 1: name = '' }) => variables.has(name))
}

/** Returns the declared variables whose type is a row of the table or a list of such rows. */
function findRowVariables(plain: string, { as, word }: RowSource): ReadonlySet<string> {
  if (as !== 'name') return new Set()
  const type = String.raw`(?:"?${LETTER}+"? ?\. ?)?"?${escapePattern(toPlainWord(word))}"? ?`
  const variable = build(
    String.raw`${BEGIN}(?!${READERS}${END})(${LETTER}+)"? (?:constant )?${type}(?:;|:=|=|\[|%|default${END}|not null${END}|array${END})`,
    'g',
  )
  const declared = plain.split('declare').map((part) => part.split('begin', 1)[0] ?? '')
  return new Set(declared.flatMap((part) => [...part.matchAll(variable)].map(({ 1: name = '' }) => name)))
}

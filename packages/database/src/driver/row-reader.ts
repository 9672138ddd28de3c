import pg from 'pg'

/** The parser for the text of a column, by the OID of its type. A column of type text is not parsed. */
export type ParserOf = (oid: number) => (text: string) => unknown

/** A row, with a member for each column. If columns share a name, the last one counts. */
export type Row = Record<string, unknown>

/** Makes a row of the texts of its columns, as the server sends them. */
export type ReadRow = (texts: readonly (string | null)[]) => Row

/** The server's description of a column: its name, and the OID of its type (PostgreSQL, "Message Formats", RowDescription). */
export interface Column {
  readonly name: string
  readonly dataTypeID: number
}

/** Readers by parser and columns: as many as a service has statements. */
const known = new WeakMap<ParserOf, Map<string, ReadRow>>()

/**
 * Finds or compiles the function that reads rows of these columns. It returns an object literal, so rows have their final shape
 * from the start, and each parser has its own call site. A loop over the columns takes 50 percent longer.
 */
export function rowReader(columns: readonly Column[], parserOf: ParserOf): ReadRow {
  const readers = known.get(parserOf) ?? new Map<string, ReadRow>()
  known.set(parserOf, readers)
  const key = JSON.stringify(columns.map(({ name, dataTypeID }) => [name, dataTypeID]))
  const reader = readers.get(key) ?? compile(columns, parserOf)
  readers.set(key, reader)
  return reader
}

function compile(columns: readonly Column[], parserOf: ParserOf): ReadRow {
  const members = columns.map(({ name, dataTypeID }, index) => {
    const text = `texts[${index}]`
    const isText = dataTypeID === pg.types.builtins.TEXT
    const value = isText ? text : `${text} === null ? null : parsers[${index}](${text})`
    // A plain `__proto__` would set the prototype. In brackets it is an ordinary name, but an object with brackets is slow to
    // make.
    return `${name === '__proto__' ? '["__proto__"]' : JSON.stringify(name)}: ${value}`
  })
  const parsers = columns.map(({ dataTypeID }) => parserOf(dataTypeID))
  // The names are quoted, and come from statements of the service.
  return new Function('parsers', `return (texts) => ({ ${members} })`)(parsers)
}

import pg from 'pg'

/** How text of a column of a type, by the type's OID, becomes a value. A column of the type text keeps its text. */
export type ParserOf = (oid: number) => (text: string) => unknown

/** A member for each column; of several of one name the last. */
export type Row = Record<string, unknown>

/** Makes a row of what the server sent of its columns. */
export type ReadRow = (texts: readonly (string | null)[]) => Row

/** What the server says of a column of the rows that will follow. */
export interface Column {
  readonly name: string
  readonly dataTypeID: number
}

/** By what parses and by the columns: as many as a service has statements. */
const known = new WeakMap<ParserOf, Map<string, ReadRow>>()

/**
 * A function of its own for each list of columns, compiled from an object literal: rows have their final shape from the first,
 * and each parser is called from a place of its own. A loop over the columns takes half as long again.
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
    // That one would set the prototype. In brackets it is a name like others, but an object with brackets is slow to make.
    return `${name === '__proto__' ? '["__proto__"]' : JSON.stringify(name)}: ${value}`
  })
  const parsers = columns.map(({ dataTypeID }) => parserOf(dataTypeID))
  // Names are quoted, and come from statements of ours.
  return new Function('parsers', `return (texts) => ({ ${members} })`)(parsers)
}

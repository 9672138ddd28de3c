/** A column as it is hashed: its PostgreSQL type and its value. */
export type Column =
  | readonly ['text', string | null]
  | readonly ['bigint' | 'integer' | 'smallint', bigint | number | null]
  | readonly ['boolean', boolean | null]
  | readonly ['timestamptz', Date | null]
  /** `2026-03-01`. */
  | readonly ['date', string | null]
  | readonly ['bytea', Buffer | null]

/** Object ids of types in PostgreSQL's catalogue. They never change. */
const TYPE_IDS = {
  boolean: 16,
  bytea: 17,
  bigint: 20,
  smallint: 21,
  integer: 23,
  text: 25,
  date: 1082,
  timestamptz: 1184,
} as const

/**
 * The bytes of a row as PostgreSQL's `record_send` writes them: the number of columns, then for each column its type,
 * the length of its value (-1 for NULL) and the value. Rows that differ have bytes that differ.
 */
export function canonicalBytes(columns: readonly Column[]): Buffer {
  const parts = [int32(columns.length)]
  for (const column of columns) {
    const value = bytesOf(column)
    parts.push(int32(TYPE_IDS[column[0]]), int32(value?.length ?? -1))
    if (value) parts.push(value)
  }
  return Buffer.concat(parts)
}

/** The instant from which PostgreSQL counts, in milliseconds and as a day. */
const EPOCH_MS = Date.UTC(2000, 0, 1)
const DAY_MS = 86_400_000

function bytesOf(column: Column): Buffer | undefined {
  const [type, value] = column
  if (value === null) return undefined
  switch (type) {
    case 'text':
      return Buffer.from(value, 'utf8')
    case 'bytea':
      return value
    case 'boolean':
      return Buffer.of(value ? 1 : 0)
    case 'bigint':
      return int64(BigInt(value))
    case 'integer':
      return int32(Number(value))
    case 'smallint':
      return int32(Number(value)).subarray(2)
    case 'timestamptz':
      return int64(microsecondsOf(value))
    case 'date':
      return int32((Date.parse(value) - EPOCH_MS) / DAY_MS)
  }
}

/** `infinity` in PostgreSQL arrives as a number that is no day. No function writes it. */
const INFINITY = 2n ** 63n - 1n

function microsecondsOf(value: Date): bigint {
  const ms = Number(value) - EPOCH_MS
  return Number.isFinite(ms) ? BigInt(ms) * 1_000n : INFINITY
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(value)
  return bytes
}

import { z } from 'zod'
import { execute } from '../../servers/database.ts'

const Tables = z.array(z.object({ schema: z.string(), name: z.string() }))
const Texts = z.array(z.object({ row: z.string() }))

/** The rows of the tables of some schemas, as sorted texts, by table. */
export type Rows = ReadonlyMap<string, readonly string[]>

/**
 * Reads every row of every table.
 * @param left columns that are left out, by table without its schema
 */
export async function readRows(
  url: string,
  schemas: readonly string[],
  left: Readonly<Record<string, readonly string[]>> = {},
): Promise<Rows> {
  const names = schemas.map((schema) => `'${schema}'`).join(', ')
  const tables = await execute(
    url,
    `SELECT schemaname AS schema, tablename AS name FROM pg_tables WHERE schemaname IN (${names}) ORDER BY 1, 2`,
  )
  const rows = new Map<string, readonly string[]>()
  for (const { schema, name } of Tables.parse(tables)) {
    const without = (left[name] ?? []).map((column) => ` - '${column}'`).join('')
    const found = await execute(url, `SELECT (to_jsonb(t)${without})::text AS row FROM "${schema}"."${name}" t`)
    rows.set(
      `${schema}.${name}`,
      Texts.parse(found)
        .map(({ row }) => row)
        .sort(),
    )
  }
  return rows
}

/** The first difference of two readings, as a sentence; undefined where they are equal. */
export function findDifference(expected: Rows, found: Rows): string | undefined {
  const tables = [...new Set([...expected.keys(), ...found.keys()])]
  for (const table of tables) {
    const [one, other] = [expected.get(table), found.get(table)]
    if (one === undefined || other === undefined) return `${table} is only in one of the two`
    const [these, those] = [new Set(one), new Set(other)]
    const missing = one.find((row) => !those.has(row))
    const added = other.find((row) => !these.has(row))
    if (missing !== undefined || added !== undefined || one.length !== other.length)
      return `${table}: ${one.length} and ${other.length} rows, missing ${missing}, added ${added}`
  }
  return undefined
}

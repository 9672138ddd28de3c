import { type Kysely, sql } from 'kysely'
import type { Names } from '../migration.ts'

/** One place in the text of a function. */
export interface FunctionEdit {
  readonly name: string
  readonly from: RegExp
  readonly to: string
}

/**
 * Replaces one place in the text of a function and leaves all else as it is: its other lines, its settings and its rights.
 * Several migrations can so change one large function without copying it.
 * @throws Error unless the place is there exactly once
 */
export async function editFunction(db: Kysely<unknown>, names: Names, edit: FunctionEdit): Promise<void> {
  const { rows } = await sql<{ definition: string }>`
    SELECT pg_get_functiondef(p.oid) AS definition FROM pg_proc p
    WHERE p.pronamespace = ${names.schema}::regnamespace AND p.proname = ${names.prefix + edit.name}`.execute(db)
  const [row, another] = rows
  const places = row?.definition.match(new RegExp(edit.from, 'g'))?.length ?? 0
  if (!row || another || places !== 1) throw new Error(`${edit.name} has no single place for ${edit.from}`)
  await sql.raw(row.definition.replace(edit.from, () => edit.to)).execute(db)
}

/** A text as it stands in a function, whatever its line breaks and indentation. */
export function anySpacing(text: string): RegExp {
  return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/\s+/g, '\\s+'))
}

// Why: every answer and event of a transaction holds its whole trail, and a stranger made trails of thousands of entries.
import type { Kysely } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { anySpacing, editFunction } from './edit-function.ts'

/** Beyond the captures there is room to refund and void, and for what callers make of disputes in test mode. */
const edits = [
  {
    name: 'move_many',
    from: 'WHEN t.trail_length >= 10000 THEN',
    to: "WHEN t.trail_length >= CASE i.operation WHEN 'capture' THEN 200 ELSE 300 END THEN",
  },
  // Nobody refuses what the acquirer tells, or what expires.
  {
    name: 'dispute_close',
    from: 'AND held.trail_length >= 10000 THEN',
    to: 'AND held.trail_length >= CASE WHEN p_caller IS NULL THEN 10000 ELSE 300 END THEN',
  },
] as const

export const shortenTrails: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    for (const { name, from, to } of edits) await editFunction(db, names, { name, from: anySpacing(from), to })
  },
  async down(db: Kysely<unknown>) {
    for (const { name, from, to } of edits) await editFunction(db, names, { name, from: anySpacing(to), to: from })
  },
})

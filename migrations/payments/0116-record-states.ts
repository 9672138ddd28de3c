// Why: whoever inserts or changes a row that money rests on records it in the same transaction.
import type { Kysely } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { anySpacing, editFunction } from './edit-function.ts'

/** A function, the end of the statement in it that writes a row, and the row: its merchant, its table and its id. */
interface Recording {
  readonly name: string
  readonly after: string
  readonly row: readonly [merchant: string, table: string, id: string]
}

const RECORDINGS: readonly Recording[] = [
  {
    name: 'create_merchant',
    after: 'VALUES (merchant.id, merchant.currency, merchant.id);',
    row: ['merchant.id', 'merchants', 'merchant.id'],
  },
  {
    name: 'record_authorization',
    after: '"sessionId" text, acquirer text );',
    row: ['p_merchant_id', 'transactions', 'new_id'],
  },
  {
    name: 'create_card',
    after: '(source.instrument).id, p_notes);',
    row: ['p_merchant_id', 'cards', 'card_id'],
  },
  {
    name: 'dispute_open',
    after: 'WHERE t.merchant_id = merchant AND t.id = held.id;',
    row: ['merchant', 'disputes', 'dispute.id'],
  },
  {
    name: 'dispute_close',
    after: 'AND d.id = dispute.id RETURNING d.* INTO dispute;',
    row: ['held.merchant_id', 'disputes', 'dispute.id'],
  },
  {
    name: 'operation_close',
    after: 'WHERE o.merchant_id = p_merchant_id AND o.id = p_id;',
    row: ['p_merchant_id', 'acquirer_operations', 'p_id'],
  },
  { name: 'post_payout', after: 'RETURNING p.* INTO made;', row: ['made.merchant_id', 'payouts', 'made.id'] },
  {
    name: 'payout_close',
    after: 'AND p.id = payout.id RETURNING p.* INTO payout;',
    row: ['payout.merchant_id', 'payouts', 'payout.id'],
  },
]

/** `note_merchant_update` is in SQL, and tells every change of a merchant. */
const TELLING = /SELECT "\w+"\."\w*note_event"\(/

function callOf({ schema, prefix }: Names, [merchant, table, id]: Recording['row']): string {
  return `"${schema}"."${prefix}record_states"(${merchant}, '${table}', ARRAY[${id}]);`
}

export const recordStates: MigrationSource = (names) => {
  const update = `SELECT ${callOf(names, ['p_merchant.id', 'merchants', 'p_merchant.id'])} `
  const tell = `SELECT "${names.schema}"."${names.prefix}note_event"(`
  return {
    async up(db: Kysely<unknown>) {
      for (const { name, after, row } of RECORDINGS) {
        const to = `${after}\n      PERFORM ${callOf(names, row)}`
        await editFunction(db, names, { name, from: anySpacing(after), to })
      }
      await editFunction(db, names, { name: 'note_merchant_update', from: TELLING, to: update + tell })
    },
    async down(db: Kysely<unknown>) {
      await editFunction(db, names, { name: 'note_merchant_update', from: anySpacing(update + tell), to: tell })
      for (const { name, after, row } of RECORDINGS) {
        await editFunction(db, names, {
          name,
          from: anySpacing(`${after}\n      PERFORM ${callOf(names, row)}`),
          to: after,
        })
      }
    },
  }
}

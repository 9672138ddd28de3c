import { againWhenLost } from '@trestle/database/again-when-lost.ts'
import type { Kysely } from 'kysely'
import type { InventoryTables } from '../database.ts'
import { serviceUnavailable } from '../errors.ts'
import type { ReadProduct } from './import-record.ts'
import {
  applyImportRows,
  deleteImport,
  deleteImportRowsButTaken,
  insertImport,
  insertImportRows,
  type JudgedRows,
  judgeImportRows,
  listImportRows,
  lockImports,
  type StagedRow,
} from './staging-repository.ts'

type Mode = 'insert' | 'upsert' | 'skip'

/** What becomes of the rows of a file. `taken`: of a sku that must not be there and is. */
export interface StagedCounts {
  readonly created: number
  readonly updated: number
  readonly skipped: number
  readonly taken: number
}

const PAGE = 500
/** How often an insert may meet products that others have made in the same moment. */
const TRIES = 5

/** A file whose rows wait in the database until all of them are there. Forgotten when it is disposed of. */
export class StagedImport implements AsyncDisposable {
  readonly #db: Kysely<InventoryTables>
  readonly #id: bigint
  #staged = 0

  private constructor(db: Kysely<InventoryTables>, id: bigint) {
    this.#db = db
    this.#id = id
  }

  static async open(db: Kysely<InventoryTables>): Promise<StagedImport> {
    return new StagedImport(db, await insertImport(db))
  }

  async add(products: readonly ReadProduct[]): Promise<readonly 'staged'[]> {
    await insertImportRows(this.#db, { id: this.#id, staged: this.#staged }, products)
    this.#staged += products.length
    return products.map(() => 'staged')
  }

  /** Tells what would become of the rows now, and does nothing. */
  async judge(mode: Mode): Promise<StagedCounts> {
    return toCounts(this.#checked(await judgeImportRows(this.#db, this.#id)), mode)
  }

  /** Stores the rows in one transaction, or none of them where one has a sku that is taken and must not be. */
  async apply(mode: Mode): Promise<StagedCounts> {
    for (let tries = TRIES; tries > 0; tries--) {
      const counts = await againWhenLost(() => this.#tryApply(mode))
      if (counts !== undefined) return counts
    }
    throw serviceUnavailable({ cause: new Error('others make the same products again and again') })
  }

  async #tryApply(mode: Mode): Promise<StagedCounts | undefined> {
    const trx = await this.#db.startTransaction().execute()
    try {
      await lockImports(trx, this.#id)
      const judged = this.#checked(await judgeImportRows(trx, this.#id))
      const counts = toCounts(judged, mode)
      if (counts.taken > 0) return counts
      const { created, updated } = await applyImportRows(trx, this.#id, mode === 'upsert')
      if (mode === 'insert' && created < judged.staged) return undefined
      await trx.commit().execute()
      // Of a sku that comes twice one row is stored; what would have become of each is known from before.
      return judged.skus < judged.staged
        ? counts
        : { ...counts, created, updated, skipped: judged.staged - created - updated }
    } finally {
      if (!trx.isCommitted) await trx.rollback().execute()
    }
  }

  /** The rows that were counted as taken, some at a time. The file is of no other use afterwards. */
  async *listTaken({ taken }: StagedCounts): AsyncGenerator<readonly StagedRow[], void> {
    if (taken === 0) return
    await deleteImportRowsButTaken(this.#db, this.#id)
    for (let after = 0; ; ) {
      const rows = await listImportRows(this.#db, this.#id, { after, limit: PAGE })
      if (rows.length > 0) yield rows
      after = rows.at(-1)?.place ?? 0
      if (rows.length < PAGE) return
    }
  }

  /** What cannot be forgotten now is forgotten by the upkeep, an hour later. */
  async [Symbol.asyncDispose](): Promise<void> {
    await deleteImport(this.#db, this.#id).catch(() => {})
  }

  /** The tables do not outlive a crash of the database, nor rows an hour in which none was added. */
  #checked(judged: JudgedRows): JudgedRows {
    if (judged.staged === this.#staged) return judged
    throw serviceUnavailable({ cause: new Error('rows of the import are gone') })
  }
}

function toCounts({ staged, created, different }: JudgedRows, mode: Mode): StagedCounts {
  const updated = mode === 'upsert' ? different : 0
  const kept = staged - created - updated
  return { created, updated, skipped: mode === 'insert' ? 0 : kept, taken: mode === 'insert' ? kept : 0 }
}

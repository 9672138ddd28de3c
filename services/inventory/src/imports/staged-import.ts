import { againWhenLost } from '@trestle/database/again-when-lost.ts'
import type { Db, Trx } from '../database.ts'
import { unavailable } from '../unavailable.ts'
import type { ReadProduct } from './import-record.ts'
import {
  countImportRows,
  deleteFreeImportRows,
  deleteImport,
  insertImport,
  insertImportRows,
  type JudgedRows,
  listImportRows,
  lockImports,
  type StagedRow,
  upsertImportRows,
} from './import-repository.ts'

type Mode = 'insert' | 'upsert' | 'skip'

/** The counts of the rows of a file by their outcome. `taken` counts rows that fail because their SKU is taken. */
export interface StagedCounts {
  readonly created: number
  readonly updated: number
  readonly skipped: number
  readonly taken: number
}

type KeepCounts = (trx: Trx, counts: StagedCounts) => Promise<void> | undefined

const PAGE_ROWS = 500
/** How often storing a file starts again because other requests have created some of its products meanwhile. */
const ATTEMPTS_MAX = 5

/** A file whose rows wait in the database until it is complete. Deleted when it is disposed of. */
export class StagedImport implements AsyncDisposable {
  readonly #db: Db
  readonly #id: string
  #staged = 0

  private constructor(db: Db, id: string) {
    this.#db = db
    this.#id = id
  }

  static async open(db: Db): Promise<StagedImport> {
    return new StagedImport(db, await insertImport(db))
  }

  async add(products: readonly ReadProduct[]): Promise<readonly 'staged'[]> {
    await insertImportRows(this.#db, { id: this.#id, staged: this.#staged }, products)
    this.#staged += products.length
    return products.map(() => 'staged')
  }

  /** Counts what would become of the rows, and stores nothing. */
  async judge(mode: Mode): Promise<StagedCounts> {
    return toCounts(this.#expectAllRows(await countImportRows(this.#db, this.#id)), mode)
  }

  /**
   * Stores all rows in one transaction, or none of them if `taken` is not 0.
   * @param keep keeps the counts in the transaction that stores the rows
   * @throws serviceUnavailable when rows are gone, or when other requests take SKUs of the file again and again; the error
   * of `keep`
   */
  async apply(mode: Mode, keep: KeepCounts): Promise<StagedCounts> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const counts = await againWhenLost(() => this.#tryApply(mode, keep))
      if (counts !== undefined) return counts
    }
    throw unavailable(new Error('other requests create the same products again and again'))
  }

  async #tryApply(mode: Mode, keep: KeepCounts): Promise<StagedCounts | undefined> {
    const trx = await this.#db.startTransaction().execute()
    try {
      await lockImports(trx, this.#id)
      const judged = this.#expectAllRows(await countImportRows(trx, this.#id))
      const counts = toCounts(judged, mode)
      if (counts.taken > 0) return counts
      const { created, updated } = await upsertImportRows(trx, this.#id, mode === 'upsert' ? 'replace' : 'keep')
      if (mode === 'insert' && created < judged.staged) return undefined
      // One row is stored of a SKU that comes twice. Only the counts of the judgement include the other rows.
      const stored =
        judged.skus < judged.staged
          ? counts
          : { ...counts, created, updated, skipped: judged.staged - created - updated }
      await keep(trx, stored)
      await trx.commit().execute()
      return stored
    } finally {
      if (!trx.isCommitted) await trx.rollback().execute()
    }
  }

  /** The rows that were counted as taken, a page at a time. Deletes all other rows of the file. */
  async *listTaken({ taken }: StagedCounts): AsyncGenerator<readonly StagedRow[], void> {
    if (taken === 0) return
    await deleteFreeImportRows(this.#db, this.#id)
    for (let after = 0; ; ) {
      const rows = await listImportRows(this.#db, this.#id, { after, limit: PAGE_ROWS })
      if (rows.length > 0) yield rows
      after = rows.at(-1)?.place ?? 0
      if (rows.length < PAGE_ROWS) return
    }
  }

  /** Clean-up deletes the file an hour later if this fails. */
  async [Symbol.asyncDispose](): Promise<void> {
    await deleteImport(this.#db, this.#id).catch(() => {})
  }

  /**
   * Rows may be gone: the tables are not logged, so a crash empties them, and clean-up deletes files after an hour.
   * @throws serviceUnavailable when rows are gone
   */
  #expectAllRows(judged: JudgedRows): JudgedRows {
    if (judged.staged === this.#staged) return judged
    throw unavailable(new Error('rows of the import are gone'))
  }
}

function toCounts({ staged, created, different }: JudgedRows, mode: Mode): StagedCounts {
  const updated = mode === 'upsert' ? different : 0
  const kept = staged - created - updated
  return { created, updated, skipped: mode === 'insert' ? 0 : kept, taken: mode === 'insert' ? kept : 0 }
}

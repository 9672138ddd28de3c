// What one client may have at a time, as the reference states it (reference: Turns), where the connections of the process or an
// export must know it too. turns.ts has the other bounds.

/**
 * How long a write waits for a request with the same Idempotency-Key: the timeout of `claim_key`. It waits as
 * long for its turn.
 */
export const KEY_WAIT_MS = 5_000
/** A batch of an import waits this long for its turn, and for locks that other imports hold. */
export const TRANSFER_WAIT_MS = 60_000
/** How long a read of a list or of an export waits for its turn. */
export const READ_WAIT_MS = 10_000
/** Statements of lists that run at a time, in all and for one client. */
export const LISTS = { places: 4, each: 2 } as const
/** Exports that read the database at a time, in all and for one client. */
export const EXPORT_READS = { places: 3, each: 1 } as const
/** Batches of imports that are stored at a time, in all and for one client. */
export const IMPORT_BATCHES = { places: 4, each: 2 } as const
/** The connections of imports and exports: one for each place, and one that stores an atomic import as a whole. */
export const TRANSFER_CONNECTIONS: number = EXPORT_READS.places + IMPORT_BATCHES.places + 1

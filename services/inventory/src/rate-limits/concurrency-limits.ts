import { FairGate, type FairGateOptions } from '@trestle/common/capacity/fair-gate.ts'
import { serverBusy, serviceUnavailable } from '../errors.ts'

// The concurrency limits of clients (reference: Concurrency limits). The connections of the process and exports follow some of them.

/**
 * How long a write waits for a request with the same Idempotency-Key: the timeout of `claim_key`. It waits as long for its
 * slot.
 */
export const KEY_WAIT_MS = 5_000
/** A batch of an import waits this long for its slot, and for locks that other imports hold. */
export const TRANSFER_WAIT_MS = 60_000
/** How long a read of a list or of an export waits for its slot. */
export const READ_WAIT_MS = 10_000
/** Statements of lists that run at a time, in all and for one client. */
export const LISTS = { slots: 4, each: 2 } as const
/** Exports that read the database at a time, in all and for one client. */
export const EXPORT_READS = { slots: 3, each: 1 } as const
/** Batches of imports that are stored at a time, in all and for one client. */
const IMPORT_BATCHES = { slots: 4, each: 2 } as const
/** The connections of imports and exports: one for each slot, and one that stores an atomic import as a whole. */
export const TRANSFER_CONNECTIONS: number = EXPORT_READS.slots + IMPORT_BATCHES.slots + 1

/** The share of the connections for writes that products get, and the share of either kind that one client gets. */
const WRITE_SHARE = 0.75
/** The changes of one operator at a time: many movements of one product would keep its reservations waiting. */
const OPERATOR_WRITES = 2
/** Requests that wait for slow clients, in all and of one client. */
const LONG_PAGES = { all: 32, each: 16 } as const
const IMPORTS = { all: 16, each: 8 } as const
const EXPORTS = { all: 32, each: 16 } as const

/** Concurrency limits of clients, and bounds of their open requests. */
export interface ConcurrencyLimits {
  /** Changes of products. They may wait for an import, so they leave connections to stock. */
  readonly productWrites: FairGate
  /** Changes of stock and locations. One client leaves connections to other clients. */
  readonly stockWrites: FairGate
  /** Changes of operators, before the limit of their kind. */
  readonly operatorWrites: FairGate
  /** Reads of lists: as many as there are connections for lists. */
  readonly listReads: FairGate
  /** Open long pages. Each may have a piece in memory. */
  readonly longPages: Slots
  /** Open imports. Each may have a batch in memory. */
  readonly imports: Slots
  /** Open exports. */
  readonly exports: Slots
}

/** The two gates at which imports wait, since an atomic import holds its connection for long. */
export interface ImportLimits {
  /** Storing or staging a batch, or judging a dry run. */
  readonly batches: FairGate
  /** Storing an atomic import as a whole. */
  readonly wholeImports: FairGate
}

/** How long a request waits for its slot, in milliseconds. */
const PATIENCE = { writeMs: KEY_WAIT_MS, readMs: READ_WAIT_MS }

/** Creates the concurrency limits of a process (reference: Concurrency limits). Writes share the pool of `poolSize` connections. */
export function createConcurrencyLimits(
  { database }: { readonly database: { readonly poolSize: number } },
  { writeMs, readMs }: typeof PATIENCE = PATIENCE,
): ConcurrencyLimits & ImportLimits {
  return {
    productWrites: openWrites(Math.ceil(database.poolSize * WRITE_SHARE), writeMs),
    stockWrites: openWrites(database.poolSize, writeMs),
    operatorWrites: openGate({ slots: database.poolSize, each: OPERATOR_WRITES, patienceMs: readMs }),
    listReads: openGate({ ...LISTS, patienceMs: readMs }),
    longPages: new Slots(LONG_PAGES),
    imports: new Slots(IMPORTS),
    exports: new Slots(EXPORTS),
    batches: openGate({ ...IMPORT_BATCHES, patienceMs: TRANSFER_WAIT_MS }),
    wholeImports: openGate({ slots: 1, patienceMs: TRANSFER_WAIT_MS }),
  }
}

/** All writes of one client may wait for the same product or level, so the client leaves slots to other clients. */
function openWrites(slots: number, patienceMs: number): FairGate {
  const each = Math.ceil(slots * WRITE_SHARE)
  return openGate({ slots: slots, each, patienceMs })
}

/** A gate that answers serviceUnavailable to a client who waits longer than its patience. */
export function openGate(bounds: Omit<FairGateOptions, 'refuse'>): FairGate {
  return new FairGate({ ...bounds, refuse: ({ cause }) => serviceUnavailable({ cause }) })
}

/** Bounds how many requests of a kind are open at a time, in all and of one client. A request beyond that is refused at once. */
export class Slots {
  #free: number
  readonly #each: number
  readonly #taken = new Map<string, number>()

  constructor({ all, each }: { readonly all: number; readonly each: number }) {
    this.#free = all
    this.#each = each
  }

  /** Takes a slot until it is disposed of. @throws serverBusy when no slot is free, or the client has its share */
  take(client: string): Disposable {
    const taken = this.#taken.get(client) ?? 0
    if (this.#free === 0 || taken === this.#each) throw serverBusy()
    this.#free--
    this.#taken.set(client, taken + 1)
    return {
      [Symbol.dispose]: () => {
        this.#free++
        const left = (this.#taken.get(client) ?? 1) - 1
        if (left > 0) this.#taken.set(client, left)
        else this.#taken.delete(client)
      },
    }
  }
}

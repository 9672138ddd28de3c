import { FairGate, type FairGateOptions } from '@trestle/common/capacity/fair-gate.ts'
import { serverBusy, serviceUnavailable } from '../errors.ts'

// The concurrency limits of clients (reference: Concurrency limits). They determine some numbers of connections.

/** How long a write waits for a request with the same Idempotency-Key (the timeout of `claim_key`), and for its slot. */
export const KEY_WAIT_MS = 5_000
/** How long a batch of an import waits for its slot, and for locks of other imports. */
export const TRANSFER_WAIT_MS = 60_000
/** How long a read of a list or an export waits for its slot. */
export const READ_WAIT_MS = 10_000
/** Concurrent statements of lists, in total and per client. */
export const LISTS = { slots: 4, each: 2 } as const
/** Exports that read the database concurrently, in total and per client. */
export const EXPORT_READS = { slots: 3, each: 1 } as const
/** Batches of imports that are stored concurrently, in total and per client. */
const IMPORT_BATCHES = { slots: 4, each: 2 } as const
/** Connections of imports and exports: one per slot, and one that stores an atomic import as a whole. */
export const TRANSFER_CONNECTIONS: number = EXPORT_READS.slots + IMPORT_BATCHES.slots + 1

/** The share of write connections for products, and the largest share of one client in each kind of write. */
const WRITE_SHARE = 0.75
/** Concurrent changes of one operator. More movements of one product would delay its reservations. */
const OPERATOR_WRITES = 2
/** Requests that may wait for slow clients, in total and per client. */
const LONG_PAGES = { all: 32, each: 16 } as const
const IMPORTS = { all: 16, each: 8 } as const
const EXPORTS = { all: 32, each: 16 } as const

/** Concurrency limits of clients, and limits of their open requests. */
export interface ConcurrencyLimits {
  /** Changes of products. They may wait for an import, so connections for stock stay free. */
  readonly productWrites: FairGate
  /** Changes of stock and locations. One client cannot use all connections. */
  readonly stockWrites: FairGate
  /** Changes of operators. They also need a slot of their kind. */
  readonly operatorWrites: FairGate
  /** Reads of lists, one per connection for lists. */
  readonly listReads: FairGate
  /** Open long pages. Each may have one part in memory. */
  readonly longPages: Slots
  /** Open imports. Each may have one batch in memory. */
  readonly imports: Slots
  readonly exports: Slots
}

/** The limits of imports. Atomic imports have their own, because each occupies its connection for a long time. */
export interface ImportLimits {
  /** Limits storing or staging a batch, and checking a dry run. */
  readonly batches: FairGate
  /** Limits storing an atomic import as a whole. */
  readonly wholeImports: FairGate
}

/** How long requests wait for a slot, in milliseconds. */
const PATIENCE = { writeMs: KEY_WAIT_MS, readMs: READ_WAIT_MS }

/** Creates the concurrency limits of a process (reference: Concurrency limits). Writes share `poolSize` connections. */
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

/** All writes of one client may wait for the same row, so some slots are reserved for other clients. */
function openWrites(slots: number, patienceMs: number): FairGate {
  const each = Math.ceil(slots * WRITE_SHARE)
  return openGate({ slots: slots, each, patienceMs })
}

/** Creates a concurrency limit that answers serviceUnavailable to a client who has waited too long. */
export function openGate(bounds: Omit<FairGateOptions, 'refuse'>): FairGate {
  return new FairGate({ ...bounds, refuse: ({ cause }) => serviceUnavailable({ cause }) })
}

/** Limits the open requests of a kind, in total and per client. Further requests are refused immediately. */
export class Slots {
  #free: number
  readonly #each: number
  readonly #taken = new Map<string, number>()

  constructor({ all, each }: { readonly all: number; readonly each: number }) {
    this.#free = all
    this.#each = each
  }

  /** Takes a slot until it is disposed of. @throws serverBusy if no slot is free or the client has its share */
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

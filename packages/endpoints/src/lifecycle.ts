import type { Core } from './core.ts'
import { nextVersion } from './discovery/import-graph.ts'
import type { RouteTable } from './routing/table.ts'

/** How far the controllers of an application are loaded. */
export type LoadState = 'new' | 'loading' | 'preparing' | 'serving' | 'failed'
type LoadEvent = 'asked' | 'loaded' | 'prepared' | 'failed'

/** Whether changes of the controllers are watched, and whether one is being loaded. */
export type WatchState = 'waiting' | 'watching' | 'reloading' | 'ended'
type WatchEvent = 'served' | 'changed' | 'reloaded' | 'closed'

/** The state of the load after each event. An event that leaves the state as it is has no effect. */
const NEXT_LOAD: Readonly<Record<LoadState, Readonly<Record<LoadEvent, LoadState>>>> = {
  new: { asked: 'loading', loaded: 'new', prepared: 'new', failed: 'new' },
  loading: { asked: 'loading', loaded: 'preparing', prepared: 'loading', failed: 'failed' },
  preparing: { asked: 'preparing', loaded: 'preparing', prepared: 'serving', failed: 'preparing' },
  serving: { asked: 'serving', loaded: 'serving', prepared: 'serving', failed: 'serving' },
  failed: { asked: 'failed', loaded: 'failed', prepared: 'failed', failed: 'failed' },
}

/** The state of the watch after each event. The event `reloaded` belongs to the newest reload only. */
const NEXT_WATCH: Readonly<Record<WatchState, Readonly<Record<WatchEvent, WatchState>>>> = {
  waiting: { served: 'watching', changed: 'waiting', reloaded: 'waiting', closed: 'ended' },
  watching: { served: 'watching', changed: 'reloading', reloaded: 'watching', closed: 'ended' },
  reloading: { served: 'reloading', changed: 'reloading', reloaded: 'watching', closed: 'ended' },
  ended: { served: 'ended', changed: 'ended', reloaded: 'ended', closed: 'ended' },
}

/** The parts of an application that its lifecycle uses: how its routes are built, and how changes of files are noticed. */
export interface LifecycleOptions {
  readonly core: Pick<Core, 'table' | 'log' | 'listeners'>
  /** Builds the table of a version; 0 is the first load. @throws Error for a controller that cannot be imported or served */
  readonly build: (version: number) => Promise<RouteTable>
  /** Calls `reload` at each change, and returns a function that stops this. Undefined without the option `watch`. */
  readonly watch: ((reload: () => Promise<void>) => () => void) | undefined
}

/** `ready` and `close` wait this long for a listener. */
const LISTENER_MS = 30_000

/**
 * The load, the reloads and the end of an application. The README of the package has a diagram of the states.
 *
 * The load does not depend on `close`: a closed application still loads, and answers with what it has. Only the watch ends.
 */
export class Lifecycle {
  readonly #options: LifecycleOptions
  #load: LoadState = 'new'
  #watch: WatchState = 'waiting'
  /** The result of the load. Undefined in the state `new`. */
  #loading: Promise<void> | undefined
  #unwatch: (() => void) | undefined
  /** The version of the reload that began last. */
  #newest = 0

  constructor(options: LifecycleOptions) {
    this.#options = options
  }

  get load(): LoadState {
    return this.#load
  }

  get watch(): WatchState {
    return this.#watch
  }

  /** Loads the controllers once, and waits for the listeners of `ready`. @throws Error of `build`, also to later callers */
  ready(): Promise<void> {
    this.#loading ??= this.#start()
    return this.#loading
  }

  async #start(): Promise<void> {
    const { core, build, watch } = this.#options
    this.#load = NEXT_LOAD[this.#load].asked
    try {
      core.table = await build(0)
    } catch (error) {
      this.#load = NEXT_LOAD[this.#load].failed
      throw error
    }
    this.#load = NEXT_LOAD[this.#load].loaded
    await core.listeners.emitAndWait('ready', LISTENER_MS)
    this.#load = NEXT_LOAD[this.#load].prepared
    if (watch === undefined) return
    this.#watch = NEXT_WATCH[this.#watch].served
    // `close` may have come during the load. A watch that began after it would never end.
    if (this.#watch === 'watching') this.#unwatch = watch(() => this.#reload())
  }

  /** Keeps the old table when a new one cannot be built. Of several reloads at a time, the last one to start counts. */
  async #reload(): Promise<void> {
    const { core, build } = this.#options
    const version = nextVersion()
    this.#newest = version
    this.#watch = NEXT_WATCH[this.#watch].changed
    const built = await build(version).then(
      (table) => ({ table }),
      (error: unknown) => ({ error }),
    )
    // A later reload replaces this one, and `close` drops it: listeners of `ready` must not run after listeners of `close`.
    if (version !== this.#newest || this.#watch !== 'reloading') return
    this.#watch = NEXT_WATCH[this.#watch].reloaded
    if ('error' in built) return core.log(built.error, 'the controllers stay as they were')
    core.table = built.table
    core.listeners.emit('ready')
  }

  /** Ends the watch, and resolves when the listeners of `close` have ended. */
  async close(): Promise<void> {
    this.#watch = NEXT_WATCH[this.#watch].closed
    this.#unwatch?.()
    await this.#options.core.listeners.emitAndWait('close', LISTENER_MS)
  }
}

import type { Deployment } from '../servers/deployment.ts'
import type { Memory } from './memory.ts'
import type { PlanSources } from './plans.ts'
import type { Lexicon } from './valid-value.ts'
import type { WireContext } from './wire.ts'

/** Knowledge about a service that its API document lacks. */
export interface Target {
  readonly service: string
  readonly lexicon: Lexicon
  readonly bodies: PlanSources['bodies']
  readonly together?: PlanSources['together']
  readonly headers: Lexicon
  readonly actors: number
  readonly credentialOf: PlanSources['credentialOf']
  /** Names of values in answers that later requests need. */
  readonly pools: ReadonlySet<string>
  /** The names whose values no log may contain. */
  readonly tokens: readonly string[]
  /** Errors of the log that the fuzzer's stand-ins cause on purpose. */
  readonly causedErrors?: RegExp | undefined
  /** The operation whose errors have the form of errors beside any route. */
  readonly errorsOf: string
  readonly pages: RegExp
  /** Maps the sent path to the path of the document, if a service accepts several forms. */
  readonly normalPath: (path: string) => string
  /** Paths for requests made of bytes. */
  readonly raw: { readonly get: string; readonly post: string }
  /** Starts the servers that the service needs. Disposing of the stack ends them. */
  readonly surround: (stack: AsyncDisposableStack) => Promise<Surroundings>
}

export interface Surroundings {
  readonly env: Readonly<Record<string, string>>
  /** Makes the objects that each actor's requests need. */
  readonly prepare: (world: World) => Promise<Ready>
}

/** The context of a preparation. Each of its requests is judged like any other, and the values of its answer are kept. */
export interface World {
  readonly deployment: Deployment
  readonly memory: Memory
  readonly ask: Ask
}

/** Sends a request of an actor, and returns the parsed body of its answer. */
export type Ask = (question: {
  readonly actor: number
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly target: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}) => Promise<unknown>

export interface Ready {
  readonly authorize: WireContext['authorize']
  /** Makes new objects for each actor, because requests use up and destroy the old ones. */
  readonly refresh: () => Promise<void>
  readonly secrets: ReadonlyMap<string, string>
}

export function sourcesOf(target: Target, document: PlanSources['document']): PlanSources {
  const { lexicon, bodies, together, headers, actors, credentialOf } = target
  return { document, lexicon, bodies, together, headers, actors, credentialOf }
}

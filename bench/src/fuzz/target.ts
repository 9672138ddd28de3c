import type { Deployment } from '../servers/deployment.ts'
import type { Memory } from './memory.ts'
import type { PlanSources } from './plans.ts'
import type { Lexicon } from './valid-value.ts'
import type { WireContext } from './wire.ts'

/** The facts that the fuzzer needs to know about a service beside its API document. */
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
  /** The errors of the log that the surroundings of the service cause on purpose. */
  readonly causedErrors?: RegExp | undefined
  /** The operation whose errors have the form of errors beside any route. */
  readonly errorsOf: string
  readonly pages: RegExp
  /** The path of the document for a path as it was sent, if a service accepts several forms. */
  readonly normalPath: (path: string) => string
  /** Paths for requests made of bytes. */
  readonly raw: { readonly get: string; readonly post: string }
  /** Starts the other servers that the service needs. Disposing of the stack ends them. */
  readonly surround: (stack: AsyncDisposableStack) => Promise<Surroundings>
}

/** The needs of a service that is fuzzed. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string>>
  /** Gives each actor what its requests need to succeed. */
  readonly prepare: (world: World) => Promise<Ready>
}

/** The means of a preparation. Each of its requests is judged like any other, and the values of its answer are kept. */
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

/** The objects that preparations have made. */
export interface Ready {
  readonly authorize: WireContext['authorize']
  /** Gives each actor new objects, since requests use up and destroy the old ones. */
  readonly refresh: () => Promise<void>
  /** Secrets that no answer may contain, by name. */
  readonly secrets: ReadonlyMap<string, string>
}

/** The part of a target that the generator reads. */
export function sourcesOf(target: Target, document: PlanSources['document']): PlanSources {
  const { lexicon, bodies, together, headers, actors, credentialOf } = target
  return { document, lexicon, bodies, together, headers, actors, credentialOf }
}

import type { Deployment } from '../servers/deployment.ts'
import type { Memory } from './memory.ts'
import type { PlanSources } from './plans.ts'
import type { Lexicon } from './valid-value.ts'
import type { WireContext } from './wire.ts'

/** Facts about a service that are not in its OpenAPI document. */
export interface Target {
  readonly service: string
  readonly lexicon: Lexicon
  readonly bodies: PlanSources['bodies']
  readonly together?: PlanSources['together']
  readonly headers: Lexicon
  readonly actors: number
  readonly credentialOf: PlanSources['credentialOf']
  /** The names of values in answers that later requests need. */
  readonly pools: ReadonlySet<string>
  /** The names of values that no log may contain. */
  readonly tokens: readonly string[]
  /** Logged errors that the fuzzer's test servers cause on purpose. */
  readonly causedErrors?: RegExp | undefined
  /** An operation with the error format of requests that match no route. */
  readonly errorsOf: string
  readonly pages: RegExp
  /** Maps the requested path to the path in the document, if a service accepts several forms. */
  readonly normalPath: (path: string) => string
  /** Paths for raw requests. */
  readonly raw: { readonly get: string; readonly post: string }
  /** Starts the servers that the service needs. Disposing of the stack stops them. */
  readonly surround: (stack: AsyncDisposableStack) => Promise<Surroundings>
}

export interface Surroundings {
  readonly env: Readonly<Record<string, string>>
  /** Creates the objects that each actor's requests need. */
  readonly prepare: (world: World) => Promise<Ready>
}

/** The context of a preparation. Its requests are judged like any other, and the values of their answers are stored. */
export interface World {
  readonly deployment: Deployment
  readonly memory: Memory
  readonly ask: Ask
}

/** Sends a request of an actor, and returns the parsed body of the answer. */
export type Ask = (question: {
  readonly actor: number
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly target: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}) => Promise<unknown>

export interface Ready {
  readonly authorize: WireContext['authorize']
  /** Creates new objects for each actor, because requests use up and destroy the old ones. */
  readonly refresh: () => Promise<void>
  readonly secrets: ReadonlyMap<string, string>
}

export function sourcesOf(target: Target, document: PlanSources['document']): PlanSources {
  const { lexicon, bodies, together, headers, actors, credentialOf } = target
  return { document, lexicon, bodies, together, headers, actors, credentialOf }
}

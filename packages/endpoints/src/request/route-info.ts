import type { BodyUse } from '../binding/keywords.ts'
import type { MultipartLimits } from '../body/multipart.ts'
import { type HandlerPlace, patternOf } from '../routing/pattern.ts'
import { allowedVerbs, type Counted, type VerbRoutes } from '../routing/verbs.ts'

/** The handler that answers a request, as far as the request needs to know it. */
export interface FoundHandler {
  readonly route: HandlerPlace & {
    readonly className: string
    readonly handler: string
    readonly patterns: readonly string[]
    readonly binding: { readonly body: BodyUse }
    readonly bodyBytesMax: number
    readonly multipart: MultipartLimits
    readonly absentIfEmpty: (name: string) => boolean
  }
  readonly endpoint: VerbRoutes<Counted>
  readonly positionals: readonly string[]
}

/** The handler that answers a request, as `this.request.route`. */
export class RouteInfo {
  /** Modules on the way, joined with dots: `foo.baz`; empty for the root. */
  readonly module: string
  /** The exported name, with nested classes joined by dots: `Admin.Users`. */
  readonly className: string
  /** Name of the method: `GET_stats`. */
  readonly handler: string
  /** The URL, with names for the positionals: `/foo/bar/{che}`. */
  readonly pattern: string
  /** The positionals of the path. */
  readonly positionals: readonly string[]
  readonly #endpoint: FoundHandler['endpoint']

  constructor({ route, endpoint, positionals }: FoundHandler) {
    this.module = route.modulePath.join('.')
    this.className = route.className
    this.handler = route.handler
    this.pattern = patternOf(route, positionals.length)
    this.positionals = positionals
    this.#endpoint = endpoint
  }

  /** The verbs of this URL. */
  get allow(): readonly string[] {
    return allowedVerbs(this.#endpoint, this.positionals.length)
  }

  /** All members. `JSON.stringify` would leave out the getter. */
  toJSON(): object {
    return { ...this, allow: this.allow }
  }
}

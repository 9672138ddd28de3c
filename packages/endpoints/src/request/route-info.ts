import type { BodyUse } from '../binding/keywords.ts'
import type { MultipartLimits } from '../body/multipart.ts'
import { type HandlerPlace, patternOf } from '../routing/pattern.ts'
import { allowedVerbs, type Counted, type VerbRoutes } from '../routing/verbs.ts'

/** The part of the handler that the request exposes. */
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
  /** The modules on the path, joined with dots, such as `foo.baz`. It is empty for the root. */
  readonly module: string
  /** The exported name, with the names of nested classes joined by dots, such as `Admin.Users`. */
  readonly className: string
  /** The name of the method, such as `GET_stats`. */
  readonly handler: string
  /** The URL with names for the positionals, such as `/foo/bar/{che}`. */
  readonly pattern: string
  /** The values of the positionals in the path. */
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

  /** The verbs that this URL supports. */
  get allow(): readonly string[] {
    return allowedVerbs(this.#endpoint, this.positionals.length)
  }

  /** Returns all members, because `JSON.stringify` would omit the getter. */
  toJSON(): object {
    return { ...this, allow: this.allow }
  }
}

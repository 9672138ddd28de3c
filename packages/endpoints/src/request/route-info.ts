import { patternOf } from '../routing/pattern.ts'
import { allowedVerbs, type Found } from '../routing/resolve.ts'

/** What answers a request. */
export class RouteInfo {
  /** Modules on the way, joined with dots: `foo.baz`; empty for the root. */
  readonly module: string
  /** As exported, nested classes joined with dots: `Admin.Users`. */
  readonly className: string
  /** Name of the method: `GET_stats`. */
  readonly handler: string
  /** The URL, with names for the positionals: `/foo/bar/{che}`. */
  readonly pattern: string
  /** What the path gives for them. */
  readonly positionals: readonly string[]
  readonly #endpoint: Found['endpoint']

  constructor({ route, endpoint, positionals }: Found) {
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

  /** All of the above: a getter is none of the members that JSON takes by itself. */
  toJSON(): object {
    return { ...this, allow: this.allow }
  }
}

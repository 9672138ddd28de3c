export interface ListedRoute {
  readonly verb: string
  /** With all the positionals that it may take: `/foo/bar/{che}`. */
  readonly pattern: string
  /** How many of them a request must give. */
  readonly required: number
  /** Whether the last stands for any number of them. */
  readonly rest: boolean
  readonly module: string
  readonly className: string
  readonly handler: string
  /** File, or key of the module map. */
  readonly source: string
}

/** The handler that a request would reach, or the status that it would get without one. */
export interface ResolvedPath {
  /** 200 when a handler would be called; otherwise the status of the answer: 204, 400, 404, 405, 414, 501. */
  readonly status: number
  readonly route: ListedRoute | undefined
  readonly positionals: readonly string[]
  /** The verbs of this URL; empty where there is none. */
  readonly allow: readonly string[]
}

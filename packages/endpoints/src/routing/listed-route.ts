export interface ListedRoute {
  readonly verb: string
  /** The URL with all positionals that it may have, such as `/foo/bar/{che}`. */
  readonly pattern: string
  /** The number of required positionals. */
  readonly required: number
  /** Whether the last positional stands for any number of positionals. */
  readonly rest: boolean
  readonly module: string
  readonly className: string
  readonly handler: string
  /** The file or the key in the module map. */
  readonly source: string
}

/** The handler that a request would reach, or the status that the request would get without a handler. */
export interface ResolvedPath {
  /** 200 if a handler would be called. Otherwise it is the status of the answer: 204, 400, 404, 405, 414 or 501. */
  readonly status: number
  readonly route: ListedRoute | undefined
  readonly positionals: readonly string[]
  /** The verbs that this URL supports. The list is empty if the URL does not exist. */
  readonly allow: readonly string[]
}

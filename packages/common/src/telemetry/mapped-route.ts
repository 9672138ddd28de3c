/** What answers a request where an application stands behind a wildcard: the router of Fastify cannot tell. */
export interface MappedRoute {
  /** With names in braces: `/users/{userId}`. Undefined where nothing is at the URL. */
  readonly pattern: string | undefined
  /** Values of the names. */
  readonly params: () => Readonly<Record<string, string>>
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the application behind the wildcard, for logs, metrics and traces. */
    mappedRoute: MappedRoute | undefined
  }
}

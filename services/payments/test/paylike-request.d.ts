declare module '@paylike/request' {
  interface RequestOptions {
    readonly version: number
    readonly data: object
    readonly fetch: typeof fetch
    readonly clientId?: string
  }
  /** The published client: a source of the lines that are answered. */
  function request(endpoint: string, options: RequestOptions): { first(): Promise<unknown> }
  export = request
}

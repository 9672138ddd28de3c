declare module '@paylike/request' {
  interface RequestOptions {
    readonly version: number
    readonly data: object
    readonly fetch: typeof fetch
    readonly clientId?: string
  }
  /** The published client. It answers a source of lines. */
  function request(endpoint: string, options: RequestOptions): { first<Line>(): Promise<Line> }
  export = request
}

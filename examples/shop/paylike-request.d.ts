declare module '@paylike/request' {
  interface RequestOptions {
    readonly version: number
    readonly clientId?: string
    readonly timeout?: number
    readonly data: object
    readonly fetch: typeof fetch
  }
  function request(endpoint: string, options: RequestOptions): { first(): Promise<unknown> }
  export = request
}

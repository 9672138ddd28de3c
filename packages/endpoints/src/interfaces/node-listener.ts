/** As much of an `IncomingMessage` as its type needs to be known by, so that ours do not need those of Node.js. */
export interface NodeRequest {
  readonly httpVersionMajor: number
  readonly rawHeaders: readonly string[]
  readonly url?: string | undefined
}

/** As much of a `ServerResponse`. */
export interface NodeResponse {
  readonly headersSent: boolean
  readonly statusCode: number
  readonly writableFinished: boolean
}

/** What `http.createServer` takes. */
export type NodeListener = (request: NodeRequest, response: NodeResponse) => Promise<void>

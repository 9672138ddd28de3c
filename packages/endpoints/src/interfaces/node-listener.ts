/** Enough of `IncomingMessage` to identify it. So the published types need none of Node.js. */
export interface NodeRequest {
  readonly httpVersionMajor: number
  readonly rawHeaders: readonly string[]
  readonly url?: string | undefined
}

/** Enough of `ServerResponse` to identify it. */
export interface NodeResponse {
  readonly headersSent: boolean
  readonly statusCode: number
  readonly writableFinished: boolean
}

/** A listener that `http.createServer` of Node.js takes. */
export type NodeListener = (request: NodeRequest, response: NodeResponse) => Promise<void>

/**
 * Parts of `node:http`. An import of the module would read all its exports, one of which loads the WebSocket client: 20 ms of
 * every start.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')

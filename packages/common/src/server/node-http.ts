/**
 * Parts of `node:http`. An import of the module would read all its exports. One of them loads the WebSocket client, which takes
 * 20 ms of every start.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')

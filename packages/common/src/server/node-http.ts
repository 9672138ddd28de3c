/** Of `node:http`. An import of that reads all its exports, one of which loads the WebSocket client: 20 ms of every start. */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')

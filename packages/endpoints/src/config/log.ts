/** Takes warnings and unexpected errors. */
export interface Log {
  readonly warn: (message: string) => void
  readonly error: (error: unknown, message: string) => void
}

export const consoleLog: Log = {
  warn: (message) => console.warn(message),
  error: (error, message) => console.error(message, error),
}

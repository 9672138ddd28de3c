/** Receives the warnings of the framework and unexpected errors. */
export interface Log {
  readonly warn: (message: string) => void
  readonly error: (error: unknown, message: string) => void
}

/** The default log of an application. It uses the console, because some platforms have nothing else. */
export const consoleLog: Log = {
  warn: (message) => console.warn(message),
  error: (error, message) => console.error(message, error),
}

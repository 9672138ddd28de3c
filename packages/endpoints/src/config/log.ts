/** Takes the warnings of the framework and unexpected errors. */
export interface Log {
  readonly warn: (message: string) => void
  readonly error: (error: unknown, message: string) => void
}

/** The log of an application that is given none: the console, for platforms that have nothing else. */
export const consoleLog: Log = {
  warn: (message) => console.warn(message),
  error: (error, message) => console.error(message, error),
}

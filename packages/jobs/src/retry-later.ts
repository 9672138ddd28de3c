/**
 * Thrown by a handler of a task with groups whose next attempt shall not come before some seconds have passed. The delays of the
 * task count where they are longer.
 */
export class RetryLater extends Error {
  override readonly name = 'RetryLater'
  readonly seconds: number

  constructor(message: string, seconds: number) {
    super(message)
    this.seconds = seconds
  }
}

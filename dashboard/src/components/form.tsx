import { Stack } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useContext, useEffect, useRef } from 'react'
import { codeOf, fieldErrorsOf } from '../api.ts'
import { type FieldError, writeFieldError } from '../field-errors.ts'
import { useLanguage } from '../text.ts'
import { DialogPending } from './dialog.tsx'
import { ErrorNotice } from './error-notice.tsx'

/** What a form or a dialog does when it is confirmed: a mutation without input, or a form. */
export type Action = { isPending: boolean; error: unknown; mutate: () => void; reset: () => void }

/** What an input takes from a form. The change is a value or an event. */
type Input = { onChange: (change: unknown) => void; error?: ReactNode }

/** The name of a field, or `object.field`. */
type FieldName<Values> = {
  [Name in keyof Values & string]: Values[Name] extends Record<string, unknown>
    ? `${Name}.${keyof Values[Name] & string}`
    : Name
}[keyof Values & string]
type FieldValue<Values, Name> = Name extends keyof Values
  ? Values[Name]
  : Name extends `${infer Outer}.${infer Inner}`
    ? Outer extends keyof Values
      ? FieldValue<Values[Outer], Inner>
      : never
    : never

/**
 * A form: the values of its inputs, and the mutation that sends them. The values have the names of the request's
 * fields, so that a refusal is shown beside the input of the field. `error` is any other error, for the notice.
 */
export function useMutationForm<Values extends Record<string, unknown>, Answer>({
  initialValues,
  send,
  onSuccess,
}: {
  initialValues: Values
  send: (values: Values) => Promise<Answer>
  onSuccess?: (answer: Answer) => unknown
}) {
  const form = useForm({ initialValues })
  const sending = useMutation({
    mutationFn: send,
    // What was sent may be a password: it is forgotten with the form.
    gcTime: 0,
    onMutate: form.clearErrors,
    onSuccess: async (answer) => await onSuccess?.(answer),
    onError: (error) => {
      const fieldErrors = fieldErrorsOf(error)
      // The notice shows all of them if one is of a field without an input. With a reused key the fields that differ
      // from the earlier request are named, and are not wrong in themselves.
      if (codeOf(error) === 'idempotency_key_reused' || !fieldErrors.every(({ field }) => form.getInputNode(field)))
        return
      form.setErrors(
        Object.fromEntries(
          fieldErrors.map((fieldError) => [fieldError.field, <FieldMessage key={fieldError.field} of={fieldError} />]),
        ),
      )
    },
  })
  // The error belongs to the values that were sent.
  const hasNotice = sending.variables === form.values && Object.keys(form.errors).length === 0
  return {
    isPending: sending.isPending,
    isSuccess: sending.isSuccess,
    data: sending.data,
    error: hasNotice ? sending.error : null,
    mutate: () => sending.mutate(form.getValues()),
    /** Forgets the answer. The values stay. */
    reset: () => {
      sending.reset()
      form.clearErrors()
    },
    values: form.values,
    setValues: form.setValues,
    clear: form.reset,
    input: <Name extends FieldName<Values>>(name: Name): Input & { value: FieldValue<Values, Name> } =>
      form.getInputProps(name) as Input & { value: FieldValue<Values, Name> },
    checkbox: (name: keyof Values & string): Input & { checked: boolean } =>
      form.getInputProps(name, { type: 'checkbox' }) as Input & { checked: boolean },
  }
}

function FieldMessage({ of }: { of: FieldError }) {
  return writeFieldError(of, useLanguage().language)
}

/** The inputs, the error and the buttons of an action, which the Enter key starts as well. */
export function ActionForm({
  action: { isPending, error, mutate },
  isReady = true,
  buttons,
  children,
}: {
  action: Action
  isReady?: boolean
  buttons?: ReactNode
  children: ReactNode
}) {
  const { language } = useLanguage()
  const setDialogPending = useContext(DialogPending)
  const focused = useRef<Element>(null)
  useEffect(() => {
    setDialogPending(isPending)
    // A disabled input has lost the focus.
    if (!isPending && document.activeElement === document.body && focused.current instanceof HTMLElement)
      focused.current.focus()
    return () => setDialogPending(false)
  }, [isPending, setDialogPending])
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (!isReady || isPending) return
        focused.current = document.activeElement
        mutate()
      }}
      // Otherwise the browser writes its hints in its own language. A hint counts until the next attempt, which a click
      // begins, also for the Enter key.
      onInvalidCapture={({ target }) => {
        if (isInput(target)) target.setCustomValidity(writeFieldError(toFieldError(target), language))
      }}
      onClickCapture={({ currentTarget }) => {
        for (const element of currentTarget.elements) if (isInput(element)) element.setCustomValidity('')
      }}
    >
      {/* What is typed while the request is under way would hide its refusal. */}
      <fieldset disabled={isPending} style={{ border: 0, margin: 0, padding: 0, minWidth: 0 }}>
        <Stack>
          {children}
          {error !== undefined && error !== null && <ErrorNotice error={error} />}
          {buttons}
        </Stack>
      </fieldset>
    </form>
  )
}

const isInput = (target: EventTarget): target is HTMLInputElement => 'setCustomValidity' in target

/** What the browser would refuse, as the service would say it. */
function toFieldError({ type, validity, minLength }: HTMLInputElement): FieldError {
  if (validity.valueMissing) return { field: type, code: 'required' }
  return validity.tooShort
    ? { field: type, code: 'too_short', limit: minLength }
    : { field: type, code: 'invalid_format' }
}

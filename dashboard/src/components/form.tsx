import { Stack } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useContext, useEffect, useId, useRef } from 'react'
import { codeOf, fieldErrorsOf } from '../api.ts'
import { type FieldError, writeFieldError } from '../field-errors.ts'
import { useLanguage } from '../text.ts'
import { DialogPending } from './dialog.tsx'
import { ErrorNotice } from './error-notice.tsx'

/** What happens when a form or a dialog is confirmed. */
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
 * The values of a form, and the mutation that sends them. Each value has the name of a field of the request, so that an
 * error of this field is shown beside its input. `error` is an error that is not shown beside an input.
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
  // Another form on the page may have a field of the same name, so the id of this form is part of the attribute.
  const id = useId()
  const form = useForm({ initialValues, enhanceGetInputProps: ({ field }) => ({ 'data-path': `${id} ${field}` }) })
  const hasInput = (field: string) => document.querySelector(`[data-path="${CSS.escape(`${id} ${field}`)}"]`) !== null
  const sending = useMutation({
    mutationFn: send,
    // The values may contain a password: none is kept after the form is closed.
    gcTime: 0,
    onMutate: form.clearErrors,
    onSuccess: async (answer) => await onSuccess?.(answer),
    onError: (error) => {
      const fieldErrors = fieldErrorsOf(error)
      // If a field has no input in this form, the notice shows all errors. For a reused key the service names the
      // fields that differ from the earlier request: they are not wrong in themselves.
      if (codeOf(error) === 'idempotency_key_reused' || !fieldErrors.every(({ field }) => hasInput(field))) return
      form.setErrors(
        Object.fromEntries(
          fieldErrors.map((fieldError) => [fieldError.field, <FieldMessage key={fieldError.field} of={fieldError} />]),
        ),
      )
    },
  })
  // An error is no longer shown once the values differ from those that were sent.
  const hasNotice = sending.variables === form.values && Object.keys(form.errors).length === 0
  return {
    isPending: sending.isPending,
    isSuccess: sending.isSuccess,
    /** Whether the service has accepted the values as they are now. */
    isSaved: sending.isSuccess && sending.variables === form.values,
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

/** The inputs, the error and the buttons of an action. The Enter key starts it too. */
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
      // The browser would write its hints in its own language. The messages are cleared at the next attempt. Every
      // attempt begins with a click: for the Enter key, the browser also dispatches a click on the submit button.
      onInvalidCapture={({ target }) => {
        if (isInput(target)) target.setCustomValidity(writeFieldError(toFieldError(target), language))
      }}
      onClickCapture={({ currentTarget }) => {
        for (const element of currentTarget.elements) if (isInput(element)) element.setCustomValidity('')
      }}
    >
      {/* An error is shown only while the values are those that were sent, so nobody can change them meanwhile. */}
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

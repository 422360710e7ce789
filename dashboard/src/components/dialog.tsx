import { Modal, type ModalProps } from '@mantine/core'
import { createContext, type ReactNode, useState } from 'react'
import { texts, useText } from '../text.ts'
import { ErrorBoundary } from './error-boundary.tsx'

const words = texts({ en: { close: 'Close' }, pt: { close: 'Fechar' } })

/** A form tells the dialog around it whether its request is under way. */
export const DialogPending = createContext<(isPending: boolean) => void>(() => {})

/**
 * A dialog with a form. It cannot be closed during a request, because the form has to show an error and offer a retry.
 */
export function Dialog({
  isOpen = true,
  isPending = false,
  onClose,
  children,
  ...others
}: {
  isOpen?: boolean
  /** Whether a request is in progress that no form in the dialog has sent. */
  isPending?: boolean
  onClose: () => void
  children: ReactNode
} & Pick<ModalProps, 'title' | 'size' | 'closeOnClickOutside'>) {
  const t = useText(words)
  const [isFormPending, setFormPending] = useState(false)
  const isBusy = isPending || isFormPending
  return (
    <Modal
      {...others}
      opened={isOpen}
      onClose={isBusy ? () => {} : onClose}
      closeButtonProps={{ 'aria-label': t.close, disabled: isBusy }}
      centered
    >
      <DialogPending.Provider value={setFormPending}>
        <ErrorBoundary>{children}</ErrorBoundary>
      </DialogPending.Provider>
    </Modal>
  )
}

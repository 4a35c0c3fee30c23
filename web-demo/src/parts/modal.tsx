// A dialog above the page.
import { Dialog } from "radix-ui";
import { useRef, type ReactNode, type RefObject } from "react";

import { focusOn } from "./focus.ts";

/**
 * The dialog. When it closes, the focus returns to `opener`, or without one to what had it before;
 * then `closed` runs.
 */
export function Modal({
  title,
  isTitleShown = true,
  isOpen = true,
  setOpen,
  opener,
  closed,
  look = "",
  children,
}: {
  title: string;
  isTitleShown?: boolean;
  isOpen?: boolean;
  setOpen: (isOpen: boolean) => void;
  opener?: RefObject<HTMLElement | null>;
  closed?: () => void;
  look?: string;
  children: ReactNode;
}) {
  const before = useRef<Element | null>(null);
  const giveBack = () => {
    const to = opener?.current ?? before.current;
    if (to instanceof HTMLElement && to.isConnected) {
      to.focus();
    } else {
      focusOn("sentence");
    }
  };
  return (
    <Dialog.Root open={isOpen} onOpenChange={setOpen}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        <Dialog.Content
          className={`dialog ${look}`}
          aria-describedby={undefined}
          onOpenAutoFocus={() => {
            before.current = document.activeElement;
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            giveBack();
            closed?.();
          }}
        >
          <Dialog.Title className={isTitleShown ? undefined : "unseen"}>{title}</Dialog.Title>
          {children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** What can be done in a dialog; the last is to close it. */
export function ModalButtons({ children }: { children?: ReactNode }) {
  return (
    <p className="dialog-buttons">
      {children}
      <Dialog.Close className="quiet">Close</Dialog.Close>
    </p>
  );
}

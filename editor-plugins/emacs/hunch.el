;;; hunch.el --- What you will need next, from the hunchd daemon -*- lexical-binding: t; -*-

;; Author: The hunchd contributors
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, convenience
;; URL: https://github.com/hunchd/hunchd
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; hunchd is a local daemon that has a hunch what you will need next.  `hunch-mode' tells it what you open and save;
;; `hunch-context' shows what belongs to the file at hand: the files that change with it and their signatures,
;; decisions, recent errors, past work, each with its reason.  `hunch-related' offers the files that come next.
;;
;;     (hunch-mode 1)
;;     (global-set-key (kbd "C-c h") #'hunch-context)
;;     (global-set-key (kbd "C-c H") #'hunch-related)
;;
;; Nothing in here waits for the daemon: it may be absent, slow or started again.

;;; Code:

(require 'hunch-client)
(require 'hunch-signals)
(require 'hunch-view)
(require 'xref)

(defvar hunch--offered nil "Files that were offered as related last.")

(defun hunch--here ()
  "The file that is worked on, or an error that a user understands."
  (or (hunch--file)
      (and (derived-mode-p 'hunch-context-mode) hunch--shown-file)
      (user-error "This buffer holds no file")))

;;;###autoload
(defun hunch-context (&optional query)
  "Show what a developer at the current file will need next.
With a prefix argument ask for a QUERY in words, and show what belongs to that."
  (interactive (list (and current-prefix-arg (read-string "What are you about to do? "))))
  (hunch--open-view (hunch--here) query))

(defun hunch--with-related (show)
  "Ask for the files that come next; call SHOW with them and their root."
  (let* ((file (hunch--here))
         (root (hunch--project file)))
    (cl-labels
        ((ask (introduced)
           (hunch--ask-or-start
            "POST" "/context/predict"
            (lambda (failure answer _)
              (cond ((and (eql (hunch--status-of failure) 404) (not introduced))
                     (hunch--introduce file (lambda (trouble) (if trouble (hunch--say trouble) (ask t)))))
                    (failure (hunch--say failure))
                    ((alist-get 'predicted_files answer)
                     (funcall show (alist-get 'predicted_files answer) root))
                    (t (message "hunch: %s" (or (car (alist-get 'degraded answer))
                                                (format "no hunch what comes after %s" (hunch--relative file)))))))
            :body `((project . ,root) (file_opened . ,(hunch--relative file)) (k . 10)))))
      (ask nil))))

(defun hunch--annotation (file)
  "What is said of FILE, a prediction, beside its name."
  (format "  %3.0f %%  %s" (* 100 (alist-get 'confidence file)) (string-join (alist-get 'reasons file) " · ")))

(defun hunch--choose (files root)
  "Let the user choose among FILES of the project at ROOT, and visit the choice."
  (let* ((names (mapcar (lambda (each) (cons (alist-get 'path each) each)) files))
         (table (lambda (string predicate action)
                  (if (eq action 'metadata)
                      `(metadata (category . file) (display-sort-function . identity)
                                 (annotation-function . ,(lambda (name) (hunch--annotation (cdr (assoc name names))))))
                    (complete-with-action action names string predicate))))
         (choice (completing-read "Next file: " table nil t)))
    (when (assoc choice names)
      (hunch--go (expand-file-name choice root) nil nil nil))))

;;;###autoload
(defun hunch-related ()
  "Choose among the files that come next."
  (interactive)
  (hunch--with-related #'hunch--choose))

(defun hunch--xrefs (files root)
  "FILES of the project at ROOT as the lines of an xref buffer."
  (mapcar (lambda (each)
            (xref-make (string-trim (hunch--annotation each))
                       (xref-make-file-location (expand-file-name (alist-get 'path each) root) 1 0)))
          files))

;;;###autoload
(defun hunch-related-list ()
  "List the files that come next in an xref buffer, each with its reasons."
  (interactive)
  (hunch--with-related
   (lambda (files root)
     (setq hunch--offered (mapcar (lambda (each) (expand-file-name (alist-get 'path each) root)) files))
     (let ((xrefs (hunch--xrefs files root)))
       (funcall xref-show-xrefs-function (lambda () xrefs)
                `((window . ,(selected-window)) (display-action . nil)))))))

(defun hunch--jumped ()
  "A file of the list was visited."
  (when-let ((file (hunch--file)))
    (when (member file hunch--offered)
      (setq hunch--offered nil)
      (hunch--used file))))

(defun hunch-lighter ()
  "For the mode line: how many pieces are ready for this file.
… while its project is read, ? without a daemon."
  (let ((bundle (and (buffer-file-name) (gethash (buffer-file-name) hunch--kept))))
    (cond (hunch--trouble " Hunch?")
          ((equal (alist-get 'status bundle) "degraded") " Hunch…")
          ((alist-get 'items bundle) (format " Hunch:%d" (length (alist-get 'items bundle))))
          (t " Hunch"))))

(defconst hunch--mode-hooks
  '((hunch--on-sent . hunch--prepare)
    (hunch--on-return . hunch--forget-bundles)
    (window-buffer-change-functions . hunch--follow)
    (window-selection-change-functions . hunch--follow)
    (xref-after-jump-hook . hunch--jumped)))

;;;###autoload
(define-minor-mode hunch-mode
  "Tell the hunchd daemon what you open, save and close.
In return what belongs to it is at hand: `hunch-context', `hunch-related'."
  :global t
  :group 'hunch
  :lighter (:eval (hunch-lighter))
  (dolist (each hunch--mode-hooks)
    (if hunch-mode
        (add-hook (car each) (cdr each))
      (remove-hook (car each) (cdr each))))
  (hunch--watch hunch-mode))

(provide 'hunch)
;;; hunch.el ends here
